"""Flash, RAM and time of exported C on an AVR and a Cortex-M: compiled, run in simulators, and said in its comment.

What needs Debian's packages: gcc-avr avr-libc simavr, gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from spaql.export.fixed_point import fixed_point
from spaql.export.heading import double
from spaql.export.source_fmu import ProgramInterface, interface_of
from spaql.ground.errors import SpaqlError, one_line
from spaql.policy.policy import Policy

ALONE = """static Memory memory;
volatile real input[INPUTS], output[OUTPUTS];
int main(void) { begin(&memory); for (;;) { act(&memory, (real *)input, (real *)output); } }
#ifdef __arm__
__attribute__((section(".vectors"), used)) static void *const vectors[] = {0, (void *)main};
#endif
"""  # for the size: nothing else that uses numbers
STEPS = 300  # with random inputs, of which the longest counts
SECONDS = 60
LINKS = """SECTIONS { . = 0; .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) }
 .ARM.exidx : { *(.ARM.exidx*) } . = 0x20000000; .data : { *(.data*) } .bss : { *(.bss*) *(COMMON) } end = .;
 top = 0x20040000; }
"""


class Processor(NamedTuple):
    """How a program for it is made and run."""

    name: str
    prefix: str  # of compiler and size
    flags: tuple[str, ...]
    simulator: tuple[str, ...]  # before the program
    harness: str
    unit: str  # of time, with the frequency in Hz, if cycles are counted
    frequency: float


AVR = Processor(
    "ATmega328P", "avr-", ("-mmcu=atmega328p", "-std=gnu99"), ("simavr", "-m", "atmega328p", "-f", "16000000"),
    "size_avr.c", "cycles", 16e6,
)  # fmt: skip
ARM = Processor(
    "Cortex-M4F", "arm-none-eabi-",
    ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-std=gnu99", "-nostartfiles",
     "--specs=nosys.specs", "-T", "link.ld"),
    ("qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-semihosting", "-icount", "shift=0",
     "-kernel"),
    "size_arm.c", "instructions", 0.0,
)  # fmt: skip


def with_sizes(policy: Policy, source: str, monitor: Any, name: str, precision: str) -> str:
    """The C with a line per processor in its first comment."""
    there = [
        processor
        for processor in (AVR, ARM)
        if shutil.which(f"{processor.prefix}gcc") and shutil.which(processor.simulator[0])
    ]
    if not there:
        needed = "apt-get install gcc-avr avr-libc simavr gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
        raise SpaqlError(f"sizes are measured by compilers and simulators that are not installed: {needed}")
    face = interface_of(policy, monitor, None)
    units = fixed_point(policy).observed if precision == "fixed" else (0,) * len(face.inputs)
    lines = []
    for processor in there:
        if processor is AVR and precision == "double":
            lines.append(" * ATmega328P: not measured, its compiler has single precision only.")
            continue
        lines.append(f" * {_measured(processor, source, face, name, precision, units)}")
    head, end, rest = source.partition("\n */\n")
    return "\n".join([head, " *", *lines]) + end + rest


def _measured(
    processor: Processor, source: str, face: ProgramInterface, name: str, precision: str, units: Sequence[int]
) -> str:
    """Sizes are differences to a program that does nothing with the same inputs."""
    real = {"single": "float", "fixed": "int16_t"}.get(precision, "double")
    usual = [[end * 2.0**digits for end in axis.usual] for axis, digits in zip(face.inputs, units, strict=True)]
    ends = list(zip(*usual, strict=True))
    macros = [f"#define INPUTS {len(face.inputs)}", f"#define OUTPUTS {len(face.outputs)}", f"#define STEPS {STEPS}"]
    macros += ["#include <stdint.h>", f"typedef {real} real;"]
    for word, values in zip(("low", "high"), ends, strict=True):
        macros.append(f"static const float {word}[INPUTS] = {{{', '.join(double(value) for value in values)}}};")
    nothing = ["typedef struct { int nothing; } Memory;", "static void begin(Memory *memory) { (void)memory; }"]
    head = "static __attribute__((noinline)) void act(Memory *memory, const real *input, real *output) {"
    idle = [*nothing, head, "    (void)memory; (void)input; (void)output;", "}"]
    acting = [*nothing, head, f"    (void)memory; {name}(input, output);", "}"]
    if face.remembers:
        acting = [f"typedef {name}_memory Memory;", f"static void begin(Memory *memory) {{ {name}_init(memory); }}"]
        acting.append(head)
        acting += [f"    {name}_reset(memory);"] if face.monitored else []
        acting += [f"    {name}_step(memory, input, output);", "}"]
    harness = files("spaql.export").joinpath(processor.harness).read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "link.ld").write_text(LINKS)
        sizes = []
        for parts in ([*idle, ALONE], [source, *acting, ALONE], [source, *acting, harness]):
            (place / "program.c").write_text("\n".join([*macros, *parts]), encoding="utf-8")
            options = ["-Os", "-ffunction-sections", "-Wl,--gc-sections", "-w", "program.c", "-o", "program.elf", "-lm"]
            _run([f"{processor.prefix}gcc", *processor.flags, *options], place)
            table = _run([f"{processor.prefix}size", "program.elf"], place)
            sizes.append(sum(map(int, re.findall(r"^\s*(\d+)\s+(\d+)", table, re.MULTILINE)[0])))
        printed = _run([*processor.simulator, "program.elf"], place)
        version = _run([f"{processor.prefix}gcc", "-dumpversion"], place).strip()
    printed_numbers = re.search(r"=(\d+) (\d+) (\d+)", printed)
    if printed_numbers is None:
        raise SpaqlError(f"{processor.simulator[0]} printed no measurement: {one_line(printed, 200)}")
    time, stack, memory = map(int, printed_numbers.groups())
    clock, seconds = processor.frequency, ""
    if clock:
        seconds = f" ({1e6 * time / clock:,.0f} us at {clock / 1e6:g} MHz)"
    ram = f"{memory if face.remembers else 0:,} bytes of RAM, {stack:,} of stack"
    return (
        f"{processor.name}, gcc {version} -Os: {sizes[1] - sizes[0]:,} bytes of flash, {ram}, "
        f"at most {time:,} {processor.unit}{seconds} in {STEPS} random steps."
    )


def _run(command: list[str], place: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise SpaqlError(f"sizes: {command[0]} did not end within {SECONDS} s") from None
    except OSError as error:
        raise SpaqlError(f"sizes: {command[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "error" in line or "overflow" in line or "region" in line]
        raise SpaqlError(f"sizes: {command[0]} failed: {one_line((said or [done.stderr])[0], 300)}")
    return done.stdout + done.stderr
