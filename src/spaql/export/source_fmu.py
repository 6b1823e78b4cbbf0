"""A controller as a source-code FMU of FMI 2 or FMI 3, for co-simulation: its C, fmu.c around it, and a description."""

import hashlib
from importlib.resources import files
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from spaql.export.heading import identifiers
from spaql.export.monitor_parts import CAUSES
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis
from spaql.plants.statements import dt_of
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, action_units, one_line
from spaql.version import __version__

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
FLAGS = (("request", "input", "the fallback acts from now on"), ("reset", "input", "becomes true: the law acts again"))
READ = (("fallback", "the fallback acts, until a reset"), ("trips", "how often the fallback has taken over"))


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
    described = (_description_2 if major == 2 else _description_3)(about, face, name, token)
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


def _words(face: ProgramInterface) -> list[str]:
    """Names of inputs and outputs, all different, alike to the names people read."""
    own = {"request", "reset", "fallback", "trips", "cause", "time"}
    return identifiers([axis.name for axis in (*face.inputs, *face.outputs)], own)


def _described(about: str, face: ProgramInterface) -> tuple[str, str, str]:
    said = quoteattr(about)
    units = sorted({axis.unit for axis in (*face.inputs, *face.outputs) if axis.unit})
    unit_lines = [f"    <Unit name={quoteattr(one_line(unit))}/>" for unit in units]
    definitions = "\n".join(["  <UnitDefinitions>", *unit_lines, "  </UnitDefinitions>"]) if units else ""
    return said, definitions, f'  <DefaultExperiment startTime="0.0" stepSize="{face.dt!r}"/>'


def _number(axis: Axis, is_input: bool) -> str:
    """Attributes: a start for inputs, the range of outputs, if they have one."""
    unit = f" unit={quoteattr(one_line(axis.unit))}" if axis.unit else ""
    if not is_input and axis.slope is not None:
        return unit
    if not is_input:
        return f'{unit} min="{axis.low!r}" max="{axis.high!r}"'
    middle = 0.0 if axis.slope is not None else min(max(0.0, axis.low), axis.high)
    return f'{unit} start="{float(middle)!r}"'


def _description_2(about: str, face: ProgramInterface, name: str, token: str) -> str:
    said, units, experiment = _described(about, face)
    words, count, lines = _words(face), len(face.inputs), list[str]()

    def variable(word: str, at: int, causality: str, kind: str, about: str = "") -> str:
        how = 'variability="discrete" initial="calculated"' if causality == "output" else 'variability="discrete"'
        text = f" description={quoteattr(one_line(about))}" if about else ""
        head = f'<ScalarVariable name="{word}" valueReference="{at}" causality="{causality}" {how}{text}>'
        return f"    {head}{kind}</ScalarVariable>"

    for at, (word, axis) in enumerate(zip(words, (*face.inputs, *face.outputs), strict=True)):
        causality = "input" if at < count else "output"
        lines.append(variable(word, at, causality, f"<Real{_number(axis, at < count)}/>", axis.name))
    at, outputs = len(words), list(range(count + 1, len(words) + 1))
    if face.monitored:
        for j, (word, causality, meaning) in enumerate(FLAGS):
            lines.append(variable(word, at + j, causality, '<Boolean start="false"/>', meaning))
        lines.append(variable("fallback", at + 2, "output", "<Boolean/>", READ[0][1]))
        lines.append(variable("trips", at + 3, "output", "<Integer/>", READ[1][1]))
        lines.append(variable("cause", at + 4, "output", "<Integer/>", _causes()))
        outputs += [at + 3, at + 4, at + 5]
    unknown = "".join(f'<Unknown index="{index}"/>' for index in outputs)
    return "\n".join(
        [
            HEAD,
            f'<fmiModelDescription fmiVersion="2.0" modelName="{name}" guid="{token}" description={said}'
            f' generationTool="spaql {__version__}" variableNamingConvention="flat">',
            f'  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true"'
            ' canGetAndSetFMUstate="true">',
            '    <SourceFiles><File name="fmu.c"/></SourceFiles>',
            "  </CoSimulation>",
            *([units] if units else []),
            experiment,
            "  <ModelVariables>",
            *lines,
            "  </ModelVariables>",
            f"  <ModelStructure><Outputs>{unknown}</Outputs>",
            f"    <InitialUnknowns>{unknown}</InitialUnknowns></ModelStructure>",
            "</fmiModelDescription>",
            "",
        ]
    )


def _causes() -> str:
    return ", ".join(f"{code}: {text}" for code, text in CAUSES.items())


def _description_3(about: str, face: ProgramInterface, name: str, token: str) -> str:
    said, units, experiment = _described(about, face)
    words, count, lines = _words(face), len(face.inputs), list[str]()

    def variable(kind: str, word: str, at: int, causality: str, more: str, about: str) -> str:
        how = 'variability="discrete" initial="calculated"' if causality == "output" else 'variability="discrete"'
        text = f"description={quoteattr(one_line(about))}"
        return f'    <{kind} name="{word}" valueReference="{at}" causality="{causality}" {how}{more} {text}/>'

    for at, (word, axis) in enumerate(zip(words, (*face.inputs, *face.outputs), strict=True)):
        causality = "input" if at < count else "output"
        lines.append(variable("Float64", word, at, causality, _number(axis, at < count), axis.name))
    at, outputs = len(words), list(range(count, len(words)))
    if face.monitored:
        for j, (word, causality, meaning) in enumerate(FLAGS):
            lines.append(variable("Boolean", word, at + j, causality, ' start="false"', meaning))
        lines.append(variable("Boolean", "fallback", at + 2, "output", "", READ[0][1]))
        lines.append(variable("Int32", "trips", at + 3, "output", "", READ[1][1]))
        lines.append(variable("Int32", "cause", at + 4, "output", "", _causes()))
        outputs += [at + 2, at + 3, at + 4]
    time = f'name="time" valueReference="{at + 5}" causality="independent" variability="continuous"'
    lines.append(f"    <Float64 {time}/>")
    known = [f'<Output valueReference="{index}"/>' for index in outputs]
    known += [f'<InitialUnknown valueReference="{index}"/>' for index in outputs]
    return "\n".join(
        [
            HEAD,
            f'<fmiModelDescription fmiVersion="3.0" modelName="{name}" instantiationToken="{token}" description={said}'
            f' generationTool="spaql {__version__}">',
            f'  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="true"'
            ' canGetAndSetFMUState="true"/>',
            *([units] if units else []),
            experiment,
            "  <ModelVariables>",
            *lines,
            "  </ModelVariables>",
            f"  <ModelStructure>{''.join(known)}</ModelStructure>",
            "</fmiModelDescription>",
            "",
        ]
    )
