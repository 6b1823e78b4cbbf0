"""FMUs for the tests: tests/plants/fmu_motor.c, compiled and packed as FMI 2 or FMI 3."""

import functools
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest

fmpy = pytest.importorskip("fmpy", reason='FMUs need FMPy: pip install "spaql[fmi]"')
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
if COMPILER is None:
    pytest.skip("FMUs are built by a C compiler", allow_module_level=True)

SOURCE = Path(__file__).parent / "plants" / "fmu_motor.c"
# name, reference, causality, variability, initial, start, unit, min, max
NUMBERS = [
    ("voltage", 1, "input", "continuous", None, 0.0, "V", -24, 24),
    ("speed", 2, "output", "continuous", "exact", 0.0, "rad/s", -300, 300),
    ("current", 3, "output", "continuous", "exact", 0.0, "A", None, None),
    ("J", 4, "parameter", "fixed", None, 0.01, "kg.m2", None, None),
    ("R", 5, "parameter", "fixed", None, 1.0, "Ohm", None, None),
    ("L", 6, "parameter", "fixed", None, 0.05, "H", None, None),
    ("K", 7, "parameter", "fixed", None, 0.1, "N.m/A", None, None),
    ("b", 8, "parameter", "fixed", None, 0.001, None, None, None),
    ("load", 9, "parameter", "fixed", None, 0.0, "N.m", None, None),
    ("heat", 10, "local", "continuous", "calculated", None, "W", None, None),
]


@functools.cache
def library(major, flags=()):
    """The shared library, compiled once per process."""
    target = Path(tempfile.mkdtemp()) / f"motor{fmpy.sharedLibraryExtension}"
    command = [COMPILER, "-O1", "-shared", "-fPIC", f"-DFMI={major}", *flags, str(SOURCE), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return target.read_bytes()


def build(path, major=3, flags=(), folder=None, description=None, binary=None, extra=()):
    """Writes an FMU and returns its path. `folder`: of the library, instead of that of this machine."""
    home = folder or (fmpy.platform_tuple if major == 3 else fmpy.platform)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description or describe(major))
        archive.writestr(f"binaries/{home}/motor{fmpy.sharedLibraryExtension}", binary or library(major, tuple(flags)))
        for name in extra:
            archive.writestr(name, b"")
    return path


def describe(major, kind="CoSimulation", step='stepSize="0.01"', attributes=""):
    """The modelDescription.xml of the motor."""
    texts = [_number(major, *row) for row in NUMBERS]
    if major == 3:
        texts += ['<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>']
        texts += ['<Int32 name="direction" valueReference="20" causality="output" min="-1" max="1"/>']
        texts += ['<Boolean name="brake" valueReference="21" causality="input" start="false"/>']
        texts += ['<String name="note" valueReference="22" causality="local"/>']
        texts += ['<Float64 name="field" valueReference="23" causality="local"><Dimension start="2"/></Float64>']
        head = 'fmiVersion="3.0" modelName="Motor" description="A DC motor" instantiationToken="motor"'
        outputs = '<Output valueReference="2"/><Output valueReference="3"/>'
        types = '<Float64Type name="Speed" unit="rad/s" min="-300" max="300"/>'
    else:
        variable = '<ScalarVariable name="{}" valueReference="{}" causality="{}" variability="discrete">{}</ScalarVariable>'
        texts += [variable.format("direction", 20, "output", '<Integer min="-1" max="1"/>')]
        texts += [variable.format("brake", 21, "input", '<Boolean start="false"/>')]
        head = 'fmiVersion="2.0" modelName="Motor" description="A DC motor" guid="motor"'
        outputs = '<Outputs><Unknown index="2"/><Unknown index="3"/></Outputs>'
        types = '<SimpleType name="Speed"><Real unit="rad/s" min="-300" max="300"/></SimpleType>'
    units = "".join(f'<Unit name="{unit}"/>' for unit in sorted({row[6] for row in NUMBERS if row[6]}))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription {head}><{kind} modelIdentifier="motor" {attributes}/>'
        f"<UnitDefinitions>{units}</UnitDefinitions><TypeDefinitions>{types}</TypeDefinitions><DefaultExperiment {step}/>"
        f"<ModelVariables>{''.join(texts)}</ModelVariables><ModelStructure>{outputs}</ModelStructure></fmiModelDescription>"
    )


def _number(major, name, reference, causality, variability, initial, start, unit, low, high):
    """Speed has its unit and its bounds from its declared type."""
    declared = {"unit": unit, "min": low, "max": high} if name != "speed" else {"declaredType": "Speed"}
    outer = {"name": name, "valueReference": reference, "causality": causality, "variability": variability, "initial": initial}
    inner = {**declared, "start": start}
    if major == 3:
        return f"<Float64 {_attributes(outer | inner)}/>"
    return f"<ScalarVariable {_attributes(outer)}><Real {_attributes(inner)}/></ScalarVariable>"


def _attributes(values):
    return " ".join(f'{key}="{value}"' for key, value in values.items() if value is not None)
