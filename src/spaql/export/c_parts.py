"""Parts that every C program of ours has: its comment, and a main for tests."""

import re
from collections.abc import Iterable, Sequence


def comment(lines: Iterable[str]) -> list[str]:
    """A block comment that nothing in its lines ends, and that has no trigraphs."""
    text = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    text = [re.sub(r"\?(?=\?)", "? ", line) for line in text]
    return [f"/* {text[0]}", *(f" * {line}".rstrip().rstrip("\\") for line in text[1:]), " */"]


def main_program(
    about: str, real: str, given: tuple[str, int], made: tuple[str, int], call: str, begin: Sequence[str] = ()
) -> list[str]:
    """Reads numbers until there are no more; what is left of an incomplete row is an error.

    `given` and `made`: name and length of what is read and of what is printed; `call` makes one of the other; `begin`:
    lines before the first.
    """
    (read, d), (shown, axes), scan = given, made, "%f" if real == "float" else "%lf"
    value = f"(double){shown}[j]" if real == "float" else f"{shown}[j]"
    return [
        f"/* For tests: {about} */",
        "int main(void)",
        "{",
        f"    {real} {read}[{d}];",
        f"    {real} {shown}[{axes}];",
        "    int read = 0;",
        *(f"    {line}" for line in begin),
        "",
        f'    while (scanf("{scan}", &{read}[read]) == 1) {{',
        "        read++;",
        f"        if (read == {d}) {{",
        f"            {call}",
        f"            for (int j = 0; j < {axes}; j++) {{",
        f'                printf("%s%.17g", j > 0 ? " " : "", {value});',
        "            }",
        '            printf("\\n");',
        "            read = 0;",
        "        }",
        "    }",
        "    return feof(stdin) && read == 0 ? 0 : 1;",
        "}",
    ]
