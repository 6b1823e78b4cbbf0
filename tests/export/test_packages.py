"""A controller as an FMU, as a library for Arduino and as PLCopen XML does what the controller does."""

import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import spaql
from command_line import run
from exported_programs import COMPILERS, STRICT, needs_compiler
from loop_controllers import LOOPS, controller
from loops import motor
from spaql.export.packages import package
from spaql.ground.errors import SpaqlError
from structured_blocks import blocks, monitored

TOOLS = ("avr-gcc", "simavr", "arm-none-eabi-gcc", "qemu-system-arm")
MISSING = ", ".join(tool for tool in TOOLS if shutil.which(tool) is None)
needs_simulators = pytest.mark.skipif(bool(MISSING), reason=f"no {MISSING}: apt-get install gcc-avr avr-libc simavr gcc-arm-none-eabi qemu-system-arm")
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="FMPy compiles FMUs with cmake, which is missing")


def cases():
    """By name: a policy and a monitor or none."""
    law = spaql.law(spaql.make("pendulum", horizon=60), {"sin": -8.0, "velocity": -2.0})
    in_loop = controller(LOOPS["rate limit and interlock"])
    return {
        "a law": (law, None),
        "a loop": (in_loop, None),
        "a monitor": (in_loop, spaql.Monitor({"current": (-2.0, 3.0)}, spaql.pid(in_loop.problem, 0.05, 0.1))),
    }


def rows_of(policy, n=40):
    rng = np.random.default_rng(1)
    axes = policy.problem.state if policy.problem.signals is None else policy.problem.signals.inputs
    size = np.array([axis.high - axis.low for axis in axes])
    return (0.05 * rng.normal(size=(n, len(axes))) * size).tolist()


def applied_by_python(policy, monitor):
    """(action, fallback, trips) at every sample; the fallback is asked for at the 30th, the law at the 33rd."""
    scope, told = {}, []
    exec(policy.to_python(monitor=monitor), scope)
    if policy.problem.signals is None and monitor is None:
        return [(scope["controller"](row), False, 0) for row in rows_of(policy)]
    memory = scope["controller_init"]()
    for k, row in enumerate(rows_of(policy)):
        if monitor is not None and k == 33:
            scope["controller_reset"](memory)
        if monitor is not None and k == 30:
            scope["controller_request"](memory)
        told.append((scope["controller_step"](memory, row), bool(memory.get("fallback")), memory.get("trips", 0)))
    return told


# -- FMU ---------------------------------------------------------------------------------------------------------------


@needs_cmake
@needs_compiler
@pytest.mark.parametrize(("name", "version"), [("a law", 2), ("a monitor", 3), pytest.param("a loop", 3, marks=pytest.mark.slow), pytest.param("a monitor", 2, marks=pytest.mark.slow)])
def test_an_fmu_is_compiled_and_simulated_by_fmpy(name, version, tmp_path, capfd):
    fmpy = pytest.importorskip("fmpy", reason='FMUs need FMPy: pip install "spaql[fmi]"')
    from fmpy.build import build_platform_binary

    policy, monitor = cases()[name]
    policy.save_fmu(tmp_path / "controller.fmu", version, monitor=monitor)
    folder = fmpy.extract(tmp_path / "controller.fmu", tmp_path / "fmu")
    build_platform_binary(folder, cmake_options={"CMAKE_C_FLAGS:STRING": "-Wall -Wextra -Werror"})
    described = fmpy.read_model_description(folder)
    assert fmpy.validation.validate_fmu(tmp_path / "controller.fmu") == []
    dt, told, seen = float(described.defaultExperiment.stepSize), applied_by_python(policy, monitor), []
    variables = {variable.name: variable.valueReference for variable in described.modelVariables}
    inputs = [variable.valueReference for variable in described.modelVariables if variable.causality == "input" and variable.type in ("Real", "Float64")]
    kind = fmpy.fmi2.FMU2Slave if version == 2 else fmpy.fmi3.FMU3Slave
    fmu = kind(guid=described.guid if version == 2 else described.instantiationToken, unzipDirectory=folder, modelIdentifier="controller", instanceName="it")
    fmu.instantiate()
    if version == 2:
        fmu.setupExperiment(startTime=0.0)
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    put, get = (fmu.setReal, fmu.getReal) if version == 2 else (fmu.setFloat64, fmu.getFloat64)
    for k, row in enumerate(rows_of(policy)):
        put(inputs, row)
        if monitor:
            fmu.setBoolean([variables["request"], variables["reset"]], [k == 30, k == 33])
            count = (fmu.getInteger if version == 2 else fmu.getInt32)([variables["trips"]])[0]
            extra = (bool(fmu.getBoolean([variables["fallback"]])[0]), count)
        seen.append((get([len(inputs)])[0], *(extra if monitor else (False, 0))))
        fmu.doStep(currentCommunicationPoint=k * dt, communicationStepSize=dt)
    fmu.terminate()
    fmu.freeInstance()
    assert seen == told


@needs_cmake
@needs_compiler
def test_fmpy_simulates_it_over_a_file_of_inputs(tmp_path):
    """What FMPy records at a time follows the inputs that it has set before."""
    fmpy = pytest.importorskip("fmpy", reason='FMUs need FMPy: pip install "spaql[fmi]"')
    from fmpy.build import build_platform_binary

    policy, _ = cases()["a law"]
    policy.save_fmu(tmp_path / "controller.fmu", dt=0.05)
    folder = fmpy.extract(tmp_path / "controller.fmu", tmp_path / "fmu")
    build_platform_binary(folder)
    rows = rows_of(policy)
    given = np.array([(0.05 * k, *row) for k, row in enumerate(rows)], [(name, float) for name in ("time", "cos", "sin", "velocity")])
    result = fmpy.simulate_fmu(folder, input=given, stop_time=0.05 * 39, step_size=0.05, output_interval=0.05)
    assert result["torque"][1:].tolist() == [policy.predict(row)[0].item() for row in rows[:-1]]


@needs_compiler
def test_between_samples_outputs_are_held_and_a_state_can_be_kept(tmp_path):
    """Communication steps of a third of the period, and of three periods."""
    ctypes = pytest.importorskip("ctypes")
    policy, _ = cases()["a loop"]
    for file, text in package(policy, "fmu2").items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    subprocess.run([COMPILERS[0], "-std=c99", "-O1", "-fPIC", "-shared", tmp_path / "sources/fmu.c", "-o", tmp_path / "f.so"], check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    library.fmi2Instantiate.restype = ctypes.c_void_p
    at, rows = (ctypes.c_uint * 3)(0, 1, 2), rows_of(policy)
    out = (ctypes.c_uint * 1)(3)
    scope = {}
    exec(policy.to_python(), scope)
    memory = scope["controller_init"]()
    it = ctypes.c_void_p(library.fmi2Instantiate(b"", 1, b"", b"", None, 0, 0))

    def put(row):
        assert library.fmi2SetReal(it, at, ctypes.c_size_t(3), (ctypes.c_double * 3)(*row)) == 0

    def get():
        value = (ctypes.c_double * 1)()
        assert library.fmi2GetReal(it, out, ctypes.c_size_t(1), value) == 0
        return value[0]

    def go(time, size):
        return library.fmi2DoStep(it, ctypes.c_double(time), ctypes.c_double(size), 0)

    time = 0.0
    for row in rows[:5]:
        put(row)
        applied = scope["controller_step"](memory, row)
        for part in range(3):
            assert get() == applied
            assert go(time, 0.01 / 3) == 0
            time += 0.01 / 3
            if part < 2:
                put(rows[9])  # between samples nobody looks
        put(row)
    state = ctypes.c_void_p()
    assert library.fmi2GetFMUstate(it, ctypes.byref(state)) == 0
    put(rows[6])
    assert go(time, 0.03) == 0
    for _ in range(3):
        applied = scope["controller_step"](memory, rows[6])
    assert library.fmi2SetFMUstate(it, state) == 0
    put(rows[6])
    assert go(time, 0.02) == 0
    assert get() == applied
    assert go(time, -1.0) == 3


def test_the_same_policy_gives_the_same_fmu(tmp_path):
    policy, monitor = cases()["a monitor"]
    for name in ("a.fmu", "b.fmu"):
        policy.save_fmu(tmp_path / name, 3, monitor=monitor)
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        assert archive.namelist() == ["modelDescription.xml", "sources/controller.c", "sources/fmu.c", "sources/buildDescription.xml"]
        assert archive.read("sources/controller.c").decode() == policy.to_c(monitor=monitor)


# -- Arduino -----------------------------------------------------------------------------------------------------------

ARDUINO = "#pragma once\n#ifdef __cplusplus\nextern \"C\" unsigned long micros();\n#endif\n"


@needs_compiler
@pytest.mark.parametrize("name", list(cases()))
def test_an_arduino_library_compiles_as_c_and_its_example_as_cpp(name, tmp_path):
    policy, monitor = cases()[name]
    policy.save_arduino(tmp_path / "lib", monitor=monitor, name="guard")
    assert "name=guard\n" in (tmp_path / "lib/library.properties").read_text()
    assert json.loads((tmp_path / "lib/library.json").read_text())["headers"] == "guard.h"
    for compiler in (COMPILERS[0], *(["avr-gcc"] if shutil.which("avr-gcc") else [])):
        flags = [flag for flag in STRICT if flag != "-Wmissing-prototypes" or compiler != "avr-gcc"]
        subprocess.run([compiler, *flags, "-c", tmp_path / "lib/src/guard.c", "-o", tmp_path / "guard.o"], check=True)
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    sketch = ["g++", "-x", "c++", "-Wall", "-Werror", "-fsyntax-only", "-include", tmp_path / "Arduino.h", "-I", tmp_path / "lib/src"]
    if shutil.which("g++"):
        subprocess.run([*sketch, tmp_path / "lib/examples/sampled/sampled.ino"], check=True)


# -- sizes -------------------------------------------------------------------------------------------------------------


def four_variables():
    """A clipped law of all four, a fallback of all four, a box over all four."""
    names, cube = ["a", "b", "c", "d"], spaql.cube(4, 1, 10)
    problem = replace(cube, state=tuple(spaql.Axis(name, -9.0, 9.0) for name in names), actions=spaql.Continuous((-10.0,), (10.0,)))
    law, safe = (spaql.law(problem, dict(zip(names, gains, strict=True)), 0.3) for gains in ([0.7, 1.3, 12.7, 3.1], [0.1, 0.5, 8.0, 1.1]))
    return law, spaql.Monitor(dict.fromkeys(names, (-1.1, 1.2)), safe)


@pytest.mark.slow
@needs_simulators
def test_a_law_of_four_variables_with_its_monitor_takes_less_than_2_kb_of_an_avr():
    law, monitor = four_variables()
    text = law.to_c(monitor=monitor, precision="single", sizes=True)
    flash, ram, stack, cycles = (int(number.replace(",", "")) for number in re.search(r"ATmega328P, .*: ([\d,]+) bytes of flash, ([\d,]+) bytes of RAM, ([\d,]+) of stack, at most ([\d,]+) cycles", text).groups())
    assert 1000 < flash < 2048
    assert (ram, stack < 100, cycles < 4000) == (8, True, True)
    assert "".join(line + "\n" for line in text.splitlines() if "random steps" not in line).replace(" *\n */", " */") == law.to_c(monitor=monitor, precision="single")
    assert law.to_c(monitor=monitor, precision="single", sizes=True) == text
    more = int(re.search(r"Cortex-M4F, .*at most ([\d,]+) instructions", law.to_c(monitor=monitor, sizes=True))[1].replace(",", ""))
    assert more > int(re.search(r"Cortex-M4F, .*at most ([\d,]+) instructions", text)[1].replace(",", ""))


@pytest.mark.slow
@needs_simulators
@pytest.mark.parametrize("name", list(cases()))
def test_sizes_stand_in_the_comment_of_every_kind_of_program(name):
    policy, monitor = cases()[name]
    text = policy.to_c(monitor=monitor, sizes=True)
    assert "ATmega328P: not measured, its compiler has single precision only." in text
    assert re.search(r"Cortex-M4F, gcc [\d.]+ -Os: [\d,]+ bytes of flash", text)


def test_without_compilers_sizes_say_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SpaqlError, match="apt-get install gcc-avr"):
        four_variables()[0].to_c(sizes=True)


# -- PLCopen -----------------------------------------------------------------------------------------------------------

TC6 = "{http://www.plcopen.org/xml/tc6_0201}"


@pytest.mark.parametrize("name", list(cases()))
def test_plcopen_xml_holds_the_blocks_of_structured_text(name):
    policy, monitor = cases()[name]
    project, text = ElementTree.fromstring(policy.export("plcopen", monitor=monitor)), policy.to_st(monitor=monitor)
    units = project.findall(f".//{TC6}pou")
    assert [unit.get("name") for unit in units] == re.findall(r"^FUNCTION(?:_BLOCK)? (\w+)", text, re.MULTILINE)
    again = []
    for unit in units:
        kind = {"function": "FUNCTION", "functionBlock": "FUNCTION_BLOCK"}[unit.get("pouType")]
        again.append(f"{kind} {unit.get('name')}")
        for section in unit.find(f"{TC6}interface"):
            word = {"inputVars": "VAR_INPUT", "outputVars": "VAR_OUTPUT", "localVars": "VAR"}.get(section.tag.removeprefix(TC6))
            again += [word] if word else []
            for variable in section.findall(f"{TC6}variable"):
                typed, value = variable.find(f"{TC6}type")[0], variable.find(f".//{TC6}simpleValue")
                begin = "" if value is None else f" := {value.get('value')}"
                again.append(f"    {variable.get('name')} : {typed.get('name') or typed.tag.removeprefix(TC6)}{begin};")
            again += ["END_VAR"] if word else []
        again += [unit.find(f".//{TC6}ST")[0].text, f"END_{kind}"]
    if monitor is not None:
        step, _ = monitored("\n".join(again), 3)
        seen = [step(row, k == 30, k == 33)[0] for k, row in enumerate(rows_of(policy))]
        assert seen == [action for action, *_ in applied_by_python(policy, monitor)]
    else:
        assert blocks("\n".join(again)).keys() == blocks(text).keys()


# -- the command line, and bad input -----------------------------------------------------------------------------------


def test_packages_are_written_by_the_command_line(tmp_path):
    law, _ = cases()["a law"]
    (tmp_path / "law.json").write_text(law.to_json())
    told = run("export", tmp_path / "law.json", "--to", "fmu3", "--dt", "0.05", "--out", tmp_path / "law.fmu")
    assert told.returncode == 0, told.stderr
    assert zipfile.ZipFile(tmp_path / "law.fmu").namelist()[0] == "modelDescription.xml"
    assert run("export", tmp_path / "law.json", "--to", "arduino", "--monitor", "velocity=-1:1", "--fallback", "0", "--out", tmp_path / "lib").returncode == 0
    assert "controller_request" in (tmp_path / "lib/src/controller.h").read_text()
    assert run("export", tmp_path / "law.json", "--to", "plcopen").stdout.startswith("<?xml")
    for words, options in (("--out", ("--to", "fmu2")), ("--dt goes with", ("--to", "c", "--dt", "1"))):
        refused = run("export", tmp_path / "law.json", *options)
        assert refused.returncode == 2
        assert words in refused.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda policy, folder: policy.save_fmu(folder / "a.fmu", 4), "version must be a whole number from 2 to 3"),
        (lambda policy, folder: policy.save_fmu(folder / "a.fmu", dt=0.1), "leave dt out"),
        (lambda policy, folder: policy.save_fmu(folder / "a.fmu", dt=0.2, name="a b"), "name of the function"),
        (lambda policy, folder: policy.save_fmu(folder / "a.fmu", monitor=3), "must be a spaql"),
        (lambda policy, folder: policy.save_fmu(3), "a path must be"),
        (lambda policy, folder: policy.save_arduino(folder, name="int"), "name of the function"),
    ],
)
def test_what_cannot_be_packed_is_refused_in_one_line(call, words, tmp_path):
    with pytest.raises(SpaqlError, match=words):
        call(controller(LOOPS["no memory"]) if "leave" in words else spaql.law(motor(), {"speed": -1.0}), tmp_path)
