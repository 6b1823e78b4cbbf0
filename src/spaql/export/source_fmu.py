"""Source-code FMUs of FMI 2 or FMI 3, for co-simulation, of controllers and of learned models.

The C of either, fmu.c around it, and a description.
"""

import hashlib
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from spaql.export.heading import c_comment, identifiers
from spaql.export.monitor_parts import CAUSES
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis
from spaql.plants.problem import Problem
from spaql.plants.statements import dt_of
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, action_units, one_line, variable_names, variable_units
from spaql.version import __version__

if TYPE_CHECKING:
    from spaql.gp.model_plant import ModelPlant

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
KINDS = {2: ("Real", "Boolean", "Integer"), 3: ("Float64", "Boolean", "Int32")}  # types by the version of FMI
FLAG, COUNT = 1, 2  # their places
OF_MONITOR = (
    (FLAG, "request", "input", ' start="false"', "the fallback acts from now on"),
    (FLAG, "reset", "input", ' start="false"', "becomes true: the law acts again"),
    (FLAG, "fallback", "output", "", "the fallback acts, until a reset"),
    (COUNT, "trips", "output", "", "how often the fallback has taken over"),
    (COUNT, "cause", "output", "", ", ".join(f"{code}: {text}" for code, text in CAUSES.items())),
)


class ProgramInterface(NamedTuple):
    """What a program takes and gives, for any description."""

    inputs: tuple[Axis, ...]
    outputs: tuple[Axis, ...]
    remembers: bool  # it has a memory, with init and step
    monitored: bool
    dt: float


def interface_of(policy: Policy, monitor: Any, dt: float | None) -> ProgramInterface:
    problem, signals = policy.problem, policy.problem.signals
    actuator = problem.actions if signals is None else signals.actuator
    names = action_names(problem) if signals is None else list(signals.action_names)
    low, high = actuator.bounds
    ends = zip(names, action_units(problem), low.tolist(), high.tolist(), strict=True)
    outputs = tuple(Axis(name, least, most, unit=unit) for name, unit, least, most in ends)
    inputs = tuple(problem.measured) if signals is None else signals.inputs
    if signals is not None and dt is not None and dt != signals.dt:
        raise SpaqlError(f"{problem.name} states dt in its loop, {signals.dt:g} s: leave dt out")
    seconds = signals.dt if signals is not None else dt_of(problem, dt)
    return ProgramInterface(inputs, outputs, signals is not None or monitor is not None, monitor is not None, seconds)


def fmu_files(about: str, face: ProgramInterface, source: str, name: str, major: int) -> dict[str, str]:
    token = "{" + hashlib.sha256(source.encode()).hexdigest()[:32] + "}"
    wrapper = "\n".join([f'#include "{name}.c"', "", *_macros(face, name, major), ""])
    wrapper += files("spaql.export").joinpath("fmu.c").read_text("utf-8")
    described = _description(about, face, name, token, major)
    packed = {"modelDescription.xml": described, f"sources/{name}.c": source, "sources/fmu.c": wrapper}
    if major == 3:
        packed["sources/buildDescription.xml"] = "\n".join(
            [
                HEAD,
                '<fmiBuildDescription fmiVersion="3.0">',
                f'  <BuildConfiguration modelIdentifier="{name}">',
                '    <SourceFileSet language="C99"><SourceFile name="fmu.c"/></SourceFileSet>',
                "  </BuildConfiguration>",
                "</fmiBuildDescription>",
                "",
            ]
        )
    return packed


def _macros(face: ProgramInterface, name: str, major: int) -> list[str]:
    lines = [
        f"#define FMI {major}",
        f"#define INPUTS {len(face.inputs)}",
        f"#define OUTPUTS {len(face.outputs)}",
        f"#define MONITOR {int(face.monitored)}",
        f"#define PERIOD {face.dt!r}",
        "",
    ]
    if not face.remembers:
        return [
            *lines,
            "typedef struct { int nothing; } Memory;",
            "static void begin(Memory *memory) { memory->nothing = 0; }",
            "static void act(Memory *memory, const double *input, double *output) {",
            "    (void)memory;",
            f"    {name}(input, output);",
            "}",
        ]
    lines += [
        f"typedef {name}_memory Memory;",
        f"static void begin(Memory *memory) {{ {name}_init(memory); }}",
        "static void act(Memory *memory, const double *input, double *output) {",
        f"    {name}_step(memory, input, output);",
        "}",
    ]
    if face.monitored:
        lines.append(f"static void ask(Memory *memory) {{ {name}_request(memory); }}")
        lines.append(f"static void release(Memory *memory) {{ {name}_reset(memory); }}")
    return lines


def _number(axis: Axis, is_input: bool) -> str:
    """Attributes: a start for inputs, the range of outputs, if they have one."""
    unit = f" unit={quoteattr(one_line(axis.unit))}" if axis.unit else ""
    if not is_input and axis.slope is not None:
        return unit
    if not is_input:
        return f'{unit} min="{axis.low!r}" max="{axis.high!r}"'
    middle = 0.0 if axis.slope is not None else min(max(0.0, axis.low), axis.high)
    return f'{unit} start="{float(middle)!r}"'


def _description(about: str, face: ProgramInterface, name: str, token: str, major: int) -> str:
    """The variables are inputs, outputs, then those of the monitor; references of their values are their places."""
    axes, count, lines = (*face.inputs, *face.outputs), len(face.inputs), list[str]()
    own = {"request", "reset", "fallback", "trips", "cause", "time"}
    words = identifiers([axis.name for axis in axes], own)  # all different, alike to the names people read
    variables = [
        (0, word, "input" if at < count else "output", _number(axis, at < count), axis.name)
        for at, (word, axis) in enumerate(zip(words, axes, strict=True))
    ]
    variables += OF_MONITOR if face.monitored else ()
    for at, (place, word, causality, attributes, meaning) in enumerate(variables):
        kind, how = KINDS[major][place], 'variability="discrete"'
        how += ' initial="calculated"' if causality == "output" else ""
        head = f'name="{word}" valueReference="{at}" causality="{causality}" {how}'
        text = f"description={quoteattr(one_line(meaning))}"
        if major == 2:
            lines.append(f"    <ScalarVariable {head} {text}><{kind}{attributes}/></ScalarVariable>")
        else:
            lines.append(f"    <{kind} {head}{attributes} {text}/>")
    outputs = [at for at, variable in enumerate(variables) if variable[2] == "output"]
    begin = f'modelName="{name}" {"guid" if major == 2 else "instantiationToken"}="{token}"'
    begin += f' description={quoteattr(about)} generationTool="spaql {__version__}"'
    can = f'modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true"'
    if major == 2:
        unknown = "".join(f'<Unknown index="{at + 1}"/>' for at in outputs)
        structure = [f"<Outputs>{unknown}</Outputs>", f"    <InitialUnknowns>{unknown}</InitialUnknowns>"]
        begin += ' variableNamingConvention="flat"'
        simulation = [f'  <CoSimulation {can} canGetAndSetFMUstate="true">']
        simulation += ['    <SourceFiles><File name="fmu.c"/></SourceFiles>', "  </CoSimulation>"]
    else:
        time = f'name="time" valueReference="{len(words) + 5}" causality="independent" variability="continuous"'
        lines.append(f"    <Float64 {time}/>")
        shown = [f'<{kind} valueReference="{at}"/>' for kind in ("Output", "InitialUnknown") for at in outputs]
        structure, simulation = ["".join(shown)], [f'  <CoSimulation {can} canGetAndSetFMUState="true"/>']
    units = sorted({axis.unit for axis in axes if axis.unit})
    named = [f"    <Unit name={quoteattr(one_line(unit))}/>" for unit in units]
    return "\n".join(
        [
            HEAD,
            f'<fmiModelDescription fmiVersion="{major}.0" {begin}>',
            *simulation,
            *(["  <UnitDefinitions>", *named, "  </UnitDefinitions>"] if units else []),
            f'  <DefaultExperiment startTime="0.0" stepSize="{face.dt!r}"/>',
            "  <ModelVariables>",
            *lines,
            "  </ModelVariables>",
            "\n".join(["  <ModelStructure>" + structure[0], *structure[1:]]) + "</ModelStructure>",
            "</fmiModelDescription>",
            "",
        ]
    )


# -- a learned model: the mean of its Gaussian processes, in C, without noise ------------------------------------------
#
# As scalar_form.py writes a model in Python: inputs in units, one function per variable, held in the box of the data.


def model_fmu(problem: Problem, plant: "ModelPlant", start: Array, dt: float, name: str, major: int) -> dict[str, str]:
    """The files of the FMU: actions are its inputs, observed variables its outputs, which begin at `start`."""
    shown = zip(variable_names(problem), variable_units(problem), problem.state, strict=True)
    outputs = tuple(replace(axis, name=word, unit=unit, period=None) for word, unit, axis in shown)
    low, high = problem.actions.bounds
    taken = zip(action_names(problem), action_units(problem), low.tolist(), high.tolist(), strict=True)
    inputs = tuple(Axis(word, least, most, unit=unit) for word, unit, least, most in taken)
    face = ProgramInterface(inputs, outputs, True, False, dt)
    return fmu_files(one_line(problem.summary), face, _source(problem, plant, start, name), name, major)


def _source(problem: Problem, plant: "ModelPlant", start: Array, name: str) -> str:
    d, axes, numbers = plant.sizes.d, plant.sizes.axes, plant.numbers
    lines = [*c_comment([f"Learned model: {one_line(problem.summary)}.", "The mean, without noise."]), ""]
    lines += ["#include <math.h>", "", f"typedef struct {{ double x[{d}]; }} {name}_memory;", ""]
    moving = [j for j in range(d) if numbers.shift[j] == 0.0 and numbers.turn[j] >= 0.0]
    for j in moving:
        lines += _value(plant, j)
    lines += [f"static void {name}_init({name}_memory *memory)", "{"]
    lines += [f"    memory->x[{j}] = {float(start[j])!r};" for j in range(d)]
    head = f"static void {name}_step({name}_memory *memory, const double *input, double *output)"
    lines += ["}", "", "/* Shows the state, then moves it on. */", head, "{", "    double *s = memory->x;"]
    lines += [f"    double z[{d + axes}], t[{d}];"]
    units = zip(numbers.centre.tolist(), numbers.scale.tolist(), strict=True)
    lines += [f"    z[{j}] = (s[{j}] - {centre!r}) / {scale!r};" for j, (centre, scale) in enumerate(units)]
    for k, (middle, half) in enumerate(zip(numbers.middle.tolist(), numbers.half.tolist(), strict=True)):
        lines.append(f"    z[{d + k}] = (input[{k}] - {middle!r}) / {half!r};")
    for j in range(d):
        lines += [f"    {line}" for line in _moved(plant, j)]
    lines += [f"    output[{j}] = s[{j}];" for j in range(d)]
    lines += [f"    s[{j}] = t[{j}];" for j in range(d)]
    return "\n".join([*lines, "}", ""])


def _table(name: str, values: Array) -> list[str]:
    """Constants, a few in a line."""
    texts = [repr(float(value)) for value in np.ravel(values)]
    rows = [", ".join(texts[k : k + 6]) for k in range(0, len(texts), 6)]
    return [f"    static const double {name}[{len(texts)}] = {{", *(f"        {row}," for row in rows), "    };"]


def _value(plant: "ModelPlant", j: int) -> list[str]:
    """(G2) of gaussian_process.py for the change of one variable."""
    numbers, inputs = plant.numbers, plant.sizes.inputs
    inverse = np.asarray(numbers.inverse[j], float)
    used = np.flatnonzero(inverse > 0.0).tolist()
    points, weights = numbers.points[j][used].T, np.asarray(numbers.weights[j][0], float)
    lines = [f"static double change{j}(const double *z)", "{"]
    if len(weights):
        lines += [*_table("weight", weights), *(_table("point", points) if used else [])]
    lines.append(f"    double sum = {float(numbers.linear[0, j, inputs])!r};")
    lines += [f"    sum += {float(numbers.linear[0, j, i])!r} * z[{i}];" for i in range(inputs)]
    if len(weights):
        lines += [f"    for (int p = 0; p < {len(weights)}; p++) {{", "        double square = 0.0;"]
        for n, i in enumerate(used):
            apart = f"point[{len(used)} * p + {n}] - {float(inverse[i])!r} * z[{i}]"
            lines.append(f"        square += ({apart}) * ({apart});")
        lines += ["        sum += weight[p] * exp(-0.5 * square);", "    }"]
    return [*lines, "    return sum;", "}", ""]


def _moved(plant: "ModelPlant", j: int) -> list[str]:
    """A variable after a step: copied, on a circle, or within the box of the data."""
    numbers, d = plant.numbers, plant.sizes.d
    turn, change = int(numbers.turn[j]), f"change{j}(z)"
    if turn < 0:  # a sine comes with its cosine
        return []
    if numbers.shift[j] > 0.0:
        k = int(numbers.shift[j]) - 1
        return [f"t[{j}] = {f's[{k}]' if k < d else f'input[{k - d}]'};"]
    if turn > 0:
        i, radius = turn - 1, float(numbers.radius[j])
        return [
            "{",
            f"    const double a = {change}, r = {radius!r} / fmax(sqrt(s[{j}] * s[{j}] + s[{i}] * s[{i}]), 1e-300);",
            f"    t[{j}] = r * (s[{j}] * cos(a) - s[{i}] * sin(a));",
            f"    t[{i}] = r * (s[{i}] * cos(a) + s[{j}] * sin(a));",
            "}",
        ]
    begin, length = float(numbers.first[j]), float(numbers.length[j])
    low, high, centre, scale = (float(part[j]) for part in (numbers.low, numbers.high, numbers.centre, numbers.scale))
    back = [f"t[{j}] -= {length!r} * floor((t[{j}] - {begin!r}) / {length!r});"] if length > 0.0 else []
    return [
        f"t[{j}] = z[{j}] + {change};",
        *back,
        f"t[{j}] = {centre!r} + {scale!r} * fmin(fmax(t[{j}], {low!r}), {high!r});",
    ]
