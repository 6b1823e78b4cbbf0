"""A policy as a folder of files: a source-code FMU (FMI 2 or 3), or a library for Arduino and PlatformIO.

All hold the same C as `to_c`, with or without a monitor, and nothing that is not text. The same policy gives the same
bytes.
"""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from spaql.export import KINDS, export
from spaql.export.heading import C_WORDS, checked_name, labelled, title
from spaql.export.source_fmu import ProgramInterface, fmu_files, interface_of, model_fmu
from spaql.gp.model_plant import ModelPlant
from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path, choice
from spaql.ground.writing import write_whole
from spaql.plants.problem import Problem
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.version import __version__

LATER = (1980, 1, 1, 0, 0, 0)  # the date of all files in an FMU: the same policy gives the same bytes


def package(
    policy: Policy, kind: str, *, name: str = "controller", monitor: Any = None, dt: float | None = None
) -> dict[str, str]:
    """The files of a package by their path. `kind`: "fmu2", "fmu3" or "arduino"; `dt`: seconds between samples."""
    choice("kind", kind, KINDS)
    checked_name(name, C_WORDS)
    face = interface_of(policy, monitor, dt)
    options = {} if monitor is None else {"monitor": monitor}
    if kind == "arduino":
        return _arduino(policy, face, export(policy, "c", name=name, precision="single", **options), name)
    return fmu_files(one_line(title(policy)), face, export(policy, "c", name=name, **options), name, int(kind[-1]))


def save_model(path: Any, learned: Problem, start: Array, dt: float, name: str, version: int) -> None:
    """A learned problem as an FMU."""
    assert isinstance(learned.plant, ModelPlant)
    checked_name(name, C_WORDS)
    write_package(path, model_fmu(learned, learned.plant, start, dt, name, version))


def write_package(path: Any, files_by_name: Mapping[str, str]) -> None:
    """A zip file, where the name ends with .fmu or .zip, else a folder."""
    place = checked_path(path)
    if place.suffix in (".fmu", ".zip"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in files_by_name.items():
                archive.writestr(zipfile.ZipInfo(file, LATER), text.encode())
        write_whole(place, lambda target: target.write(packed.getvalue()))
        return
    for file, text in files_by_name.items():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        write_whole(place / file, lambda target, text=text: target.write(text.encode()))


# -- Arduino and PlatformIO --------------------------------------------------------------------------------------------


def _arduino(policy: Policy, face: ProgramInterface, source: str, name: str) -> dict[str, str]:
    """Declarations go into a header, which C++ can read, too."""
    lines, declared, body = source.splitlines(), list[str](), list[str]()
    inside = False
    for line in lines:
        inside = inside or line.startswith("typedef struct {")
        (declared if inside or re.fullmatch(rf"void {name}\w*\(.*\);", line) else body).append(line)
        inside = inside and not re.fullmatch(r"\} \w+;", line)
    guard = f"{name.upper()}_H"
    header = [f"#ifndef {guard}", f"#define {guard}", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    header += [*declared, "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    first = next(j for j, line in enumerate(body) if line == " */") + 1
    code = "\n".join([*body[:first], "", f'#include "{name}.h"', *body[first:], ""])
    said = one_line(title(policy))
    properties = {
        "name": name, "version": "1.0.0", "author": "spaql", "maintainer": "spaql", "sentence": said,
        "paragraph": f"Written by spaql {__version__}.", "category": "Device Control", "url": "", "architectures": "*",
        "includes": f"{name}.h",
    }  # fmt: skip
    described = {
        "name": name, "version": "1.0.0", "description": said, "headers": f"{name}.h", "frameworks": "*",
        "platforms": "*", "build": {"srcDir": "src"},
    }  # fmt: skip
    return {
        "library.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
        "library.json": json.dumps(described, indent=1) + "\n",
        f"src/{name}.h": "\n".join(header),
        f"src/{name}.c": code,
        "examples/sampled/sampled.ino": "\n".join(_sketch(face, name)) + "\n",
    }


def _sketch(face: ProgramInterface, name: str) -> list[str]:
    """An example that samples on time, and counts when it does not."""
    call = f"{name}_step(&memory, input, output);" if face.remembers else f"{name}(input, output);"
    inputs = [one_line(labelled(axis.name, axis.unit)) for axis in face.inputs]
    outputs = [one_line(labelled(axis.name, axis.unit)) for axis in face.outputs]
    return [
        f"#include <{name}.h>",
        "",
        f"const unsigned long PERIOD = {round(face.dt * 1e6)}UL;  // us between samples",
        f"float input[{len(inputs)}], output[{len(outputs)}];",
        "unsigned long next, late;  // late: samples that were missed",
        *([f"{name}_memory memory;"] if face.remembers else []),
        "",
        "void measure() {  // read your sensors here",
        *(f"  input[{j}] = 0.0f;  // {text}" for j, text in enumerate(inputs)),
        "}",
        "",
        "void apply() {  // drive your actuators here",
        *(f"  // output[{j}]: {text}" for j, text in enumerate(outputs)),
        "}",
        "",
        "void setup() {",
        *([f"  {name}_init(&memory);"] if face.remembers else []),
        "  next = micros();",
        "}",
        "",
        "void loop() {",
        "  if ((long)(micros() - next) < 0) return;",
        "  next += PERIOD;",
        "  if ((long)(micros() - next) > 0) late++;",
        "  measure();",
        f"  {call}",
        "  apply();",
        "}",
    ]
