"""The equations of a learned model as the text that is compiled: reset and step over a table of lanes.

Gaussian processes, one per output:

    f(x) = sum_p a_p exp(-1/2 sum_k (x_k - X_pk)^2 / l_k^2) + w.x + w_0   (G2)

In the text, T is the table of the plant, N and S are the model's numbers of double and of single precision, B is the
memory of the table as single precision: its last rows are scratch. Inner loops go over lanes, so that LLVM vectorises
them without changing the order of any sum.
"""

from typing import NamedTuple

from spaql.plants.plant import LANES, Rows

HEADER = 8  # numbers before the others: address of those of single precision, points, functions, starts
SCRATCH = 3  # rows besides the inputs: place of a lane's weights, sums, address of the numbers
F = "np.float32"
TERMS = ("1.0", "1.0", "0.5", "1 / 6", "1 / 24", "1 / 120")  # of the exponential function
HALVINGS = 4  # of its argument: exp(y) = exp(y / 16)^16


class Sizes(NamedTuple):
    """What the compiled functions know beforehand."""

    d: int  # observed variables
    axes: int  # of the action
    learned: bool  # the reward is an output of the model
    ends: bool  # the end of an episode is one, the last

    @property
    def inputs(self) -> int:
        return self.d + self.axes

    @property
    def outputs(self) -> int:
        return self.d + self.learned + self.ends


class Words(NamedTuple):
    """The names that numbers have in the text; `i` is the lane."""

    sizes: Sizes
    rows: Rows

    def at(self, row: int) -> str:
        return f"T[{row * LANES} + i]"

    def place(self, name: str, k: int = 0) -> int:
        """Where numbers stand in N: the fields of `Numbers` in their order."""
        d, axes, inputs, outputs = self.sizes.d, self.sizes.axes, self.sizes.inputs, self.sizes.outputs
        sizes = {
            "centre": d, "scale": d, "low": d, "high": d, "middle": axes, "half": axes, "reward": 4,
            "inverse": outputs * inputs, "linear": 0,
        }  # fmt: skip
        names = list(sizes)
        return HEADER + sum(sizes[before] for before in names[: names.index(name)]) + k

    def number(self, name: str, k: int = 0) -> str:
        return f"N[{self.place(name, k)}]"

    @property
    def address(self) -> str:
        return f"N = doubles(np.int64(T[{(self.rows.end - 1) * LANES}]))"

    @property
    def function(self) -> str:
        """The number of the function in which a lane's episode takes place."""
        return f"np.int64({self.at(self.rows.state + self.sizes.d)})"

    def scratch(self, row: int, half: int) -> str:
        """A row of scratch holds two of single precision."""
        return f"B[{2 * LANES * (self.rows.end - SCRATCH - self.sizes.inputs + row) + half * LANES} + i]"

    def x(self, k: int) -> str:
        """Input k over its length scale."""
        return self.scratch(k, 0)

    def z(self, k: int) -> str:
        """Input k in units."""
        return self.scratch(k, 1)

    @property
    def total(self) -> str:
        return self.scratch(self.sizes.inputs + 1, 0)

    @property
    def value(self) -> str:
        return self.scratch(self.sizes.inputs + 1, 1)

    def observed(self, j: int) -> str:
        return self.at(self.rows.observation + j)

    def in_units(self, what: str, j: int) -> str:
        return f"{F}(({what} - {self.number('centre', j)}) / {self.number('scale', j)})"


def reset_text(words: Words) -> str:
    """A start and a function, at random."""
    (d, _, _, _), rows, inputs, outputs = words.sizes, words.rows, words.sizes.inputs, words.sizes.outputs
    behind = outputs * (inputs + 1) + inputs * inputs  # numbers of a function
    lines = [
        f"    {words.address}",
        "    functions, starts = np.int64(N[2]), np.int64(N[3])",
        f"    first = {words.place('linear')} + functions * {behind}",
        "    for i in range(n):",
        f"        at = first + {d} * min(np.int64({words.at(rows.noise)} * starts), starts - 1)",
        f"        {words.at(rows.state + d)} = min(np.floor({words.at(rows.noise + 1)} * functions), functions - 1.0)",
    ]
    lines += [f"        {words.at(rows.state + j)} = {words.observed(j)} = N[at + {j}]" for j in range(d)]
    return "\n".join(lines)


def step_text(words: Words, ends_at: bool) -> str:
    """Next observation, reward and end. `reward` and `terminated` are functions that are known."""
    sizes, rows = words.sizes, words.rows
    d, axes, outputs = sizes.d, sizes.axes, sizes.outputs
    lines = [
        f"    {words.address}",
        "    S, B = singles(np.int64(N[0])), singles(T.ctypes.data)",
        "    points, functions = np.int64(N[1]), np.int64(N[2])",
        f"    place = wholes(T.ctypes.data + {8 * LANES * (rows.end - SCRATCH)})",
        "    for i in range(n):",
        f"        place[i] = {words.function} * {outputs} * points",
    ]
    lines += [f"        {words.z(j)} = {words.in_units(words.at(rows.state + j), j)}" for j in range(d)]
    for k in range(axes):
        centred = f"{words.at(rows.action + k)} - {words.number('middle', k)}"
        lines.append(f"        {words.z(d + k)} = {F}(({centred}) / {words.number('half', k)})")
    for j in range(outputs):
        lines += _output(words, j)
    before = [words.at(rows.state + j) for j in range(d)] + [words.at(rows.action + k) for k in range(axes)]
    everything = ", ".join([*before, *(words.observed(j) for j in range(d))])
    lines.append("    for i in range(n):")
    if not sizes.learned:
        lines.append(f"        {words.at(rows.reward)} = reward({everything})")
    if not sizes.ends:
        known = f"1.0 if terminated({everything}) else 0.0" if ends_at else "0.0"
        lines.append(f"        {words.at(rows.done)} = {known}")
    lines += [f"        {words.at(rows.state + j)} = {words.observed(j)}" for j in range(d)]
    return "\n".join(lines)


def _output(words: Words, j: int) -> list[str]:
    """(G2) of output j, and what it is for."""
    (d, _, _, ends), inputs, outputs = words.sizes, words.sizes.inputs, words.sizes.outputs
    rows, ending, lines = words.rows, ends and j == outputs - 1, []
    if j >= d:  # a reward is one of this state or of the next one, an end one of the next
        lines += [f"    if {ending} or {words.number('reward')} > 0.0:", "        for i in range(n):"]
        lines += [f"            {words.z(k)} = {words.in_units(words.observed(k), k)}" for k in range(d)]
    lines += ["    for i in range(n):"]
    lines += [
        f"        {words.x(k)} = {words.z(k)} * {F}({words.number('inverse', j * inputs + k)})" for k in range(inputs)
    ]
    lines += [f"        {words.total} = {F}(0.0)", *_bumps(words, j)]
    linear = " + ".join(f"N[w + {k}] * {words.z(k)}" for k in range(inputs))
    lines += [
        "    for i in range(n):",
        f"        w = {words.place('linear')} + ({words.function} * {outputs} + {j}) * {inputs + 1}",
        f"        s = {words.total} + {linear} + N[w + {inputs}]",
    ]
    if j < d:
        held = f"min(max({words.z(j)} + s, {words.number('low', j)}), {words.number('high', j)})"
        lines.append(f"        {words.observed(j)} = {words.number('centre', j)} + {words.number('scale', j)} * {held}")
    elif ending:
        lines.append(f"        {words.at(rows.done)} = 1.0 if s > 0.0 else 0.0")
    else:
        lines += _reward(words)
    return lines


def _bumps(words: Words, j: int) -> list[str]:
    """The sum over all points, with the weights of each lane's function."""
    inputs, outputs = words.sizes.inputs, words.sizes.outputs
    square = " + ".join(f"(p{k} - {words.x(k)}) * (p{k} - {words.x(k)})" for k in range(inputs))
    series = f"{F}({TERMS[-1]})"
    for term in TERMS[-2::-1]:
        series = f"({F}({term}) + y * {series})"
    return [
        "    for p in range(points):",
        *(f"        p{k} = S[{j * inputs + k} * points + p]" for k in range(inputs)),
        f"        own = ({outputs * inputs} + {j}) * points + p",
        "        for i in range(n):",
        f"            y = {F}({-0.5 / 2**HALVINGS}) * ({square})",
        f"            y = y if y > {F}(-1.0) else {F}(-1.0)",
        f"            e = {series}",
        *["            e = e * e"] * HALVINGS,
        f"            {words.value} = e",
        "        for i in range(n):",
        f"            {words.total} += S[own + place[i]] * {words.value}",
    ]


def _reward(words: Words) -> list[str]:
    """The quadratic part, what was seen as a bound, and perhaps the logarithm undone."""
    inputs, outputs = words.sizes.inputs, words.sizes.outputs
    behind = f"{words.place('linear')} + functions * {outputs * (inputs + 1)}"
    lines = [f"        w = {behind} + {words.function} * {inputs * inputs}"]
    for a in range(inputs):
        row = " + ".join(f"N[w + {a * inputs + b}] * {words.z(b)}" for b in range(inputs))
        lines.append(f"        s += {words.z(a)} * ({row})")
    low, high, logarithm = (words.number("reward", k) for k in (2, 3, 1))
    return [
        *lines,
        f"        s = min(max(s, {low}), {high})",
        f"        {words.at(words.rows.reward)} = exp(s) if {logarithm} > 0.0 else s",
    ]
