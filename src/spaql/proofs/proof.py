"""What is proven, as an object to print and a file to check."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaql.ground.checks import checked_path
from spaql.ground.errors import SpaqlError, echoed, one_line
from spaql.ground.writing import write_whole
from spaql.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "spaql proof 1"
Box = tuple[tuple[float, float], ...]
BETWEEN = "the differential equation between the steps (the plant is its discretisation); "
NOT = (
    "the physical machine; {}{}delays, faults, other start states; parameters or noise that are not listed; "
    "that what is open is unsafe."
)


@dataclass(frozen=True, eq=False)
class Claim:
    """What a proof is about."""

    problem: str
    policy: str  # hash of the controller
    plant: str  # hash of the plant's equations
    variables: tuple[str, ...]  # of the plant's state
    start: Box
    steps: float  # infinite: for ever
    never: dict[str, tuple[float, float]] | None  # within these bounds at every step; None: nothing is claimed
    goes_on: bool  # the episode does not end
    reach: dict[str, tuple[float, float]] | str | None  # reaches it and stays; "end": the episode ends
    sensors: tuple[float, ...]
    parameters: dict[str, tuple[float, float]]
    single: bool
    at: tuple[tuple[float, float, dict[str, tuple[float, float]]], ...] = ()  # from, to (s): within these bounds
    dt: float | None = None  # s, of a sample: about the differential equation; None: about discrete-time equations
    loop: tuple[str, ...] = ()  # what is told of the loop around the plant


@dataclass(frozen=True, eq=False)
class Proof:
    """A theorem about a controller, or as much of it as could be proven; print it."""

    claim: Claim
    evidence: tuple[dict[str, Any], ...]  # what the checker goes through, a part of the starts each
    share: float  # of the volume of the starts that is proven
    open: tuple[Box, ...]  # what is not
    bound: dict[str, tuple[float, float]]  # within which every variable stays, from the starts that are proven
    within: int | None = None  # steps after which what is to be reached has been reached
    worst_return: float = math.nan  # of the proven starts over the steps; NaN: not asked or not known
    best_return: float = math.nan
    return_steps: int | None = None  # over which, where it is not those of the claim
    return_shares: tuple[tuple[float, float], ...] = ()  # a share of the starts, and what they return at least
    rest: Box | None = None  # where all samples from the proven starts lie in the end
    factor: float = math.nan  # by which they come nearer to its middle with every sample, in a norm
    seconds: float = 0.0
    method: str = ""
    counterexample: Any = field(default=None, compare=False)  # the worst episode found from what is open
    version: str = __version__

    @property
    def holds(self) -> bool:
        """Proven for every start state."""
        return not self.open and len(self.evidence) > 0

    @property
    def volume(self) -> float:
        """Of the starts that are proven."""
        return self.share * math.prod(high - low for low, high in self.claim.start if high > low)

    def __bool__(self) -> bool:
        return self.holds

    def save(self, path: str | PathLike[str]) -> None:
        """The certificate, for `spaql.check_proof`."""
        data = (json_of(replace(self, counterexample=None)) + "\n").encode()
        write_whole(checked_path(path), lambda file: file.write(data))

    def plot(self, path: str | PathLike[str] | None = None, x: str | None = None, y: str | None = None) -> "Figure":
        """The starts, what is open and the bounds in two variables; those whose starts are widest, if none is named."""
        from spaql.analysis.control_figures import proof_figure

        return proof_figure(self, path, x, y)

    @property
    def lines(self) -> list[str]:
        """As it stands on pages and on top of exported code: the same proof, made again, is the same text."""
        return self._lines("")

    def _lines(self, took: str) -> list[str]:
        claim = self.claim
        head = (
            "PROVEN"
            if self.holds
            else f"PROVEN for {share_text(self.share)} of the starts"
            if self.evidence
            else "NOT PROVEN"
        )
        head += f" (a volume of {digits(self.volume, math.floor)})" if self.rest is not None else ""
        text = [f"{head}  {claim.problem}, controller {claim.policy[:12]}: {self._said()}"]
        precision = "double or single" if claim.single else "double"
        kind = "discrete-time equations of the plant"
        if claim.dt is not None:
            kind = f"differential equation, between samples too, the action held for {claim.dt:g} s"
        about = f"the {kind} ({claim.plant[:12]}), controller in {precision} precision"
        if claim.loop:
            about += f"; in a loop: {', '.join(claim.loop)}"
        elif any(claim.sensors):
            about += f", sensors wrong by up to {', '.join(_ends(-x, x, False)[1] for x in claim.sensors)}"
        for name, (low, high) in claim.parameters.items():
            about += f", {name} from {' to '.join(_ends(low, high, False))}"
        text.append(f"About   {about}.")
        text.append(f"Method  {self.method}{took}, spaql {self.version}.")
        if self.open:
            part = share_text(1.0 - self.share)
            text.append(f"OPEN    {len(self.open):,} boxes, {part} of the starts: not known to be unsafe.")
        if self.counterexample is not None:
            text.append(f"FOUND   {self.counterexample}")
        between = BETWEEN if claim.dt is None else ""
        return [*text, f"NOT     {NOT.format(between, 'other ' if claim.loop else '')}"]

    def _said(self) -> str:
        claim, parts = self.claim, []
        when = "for ever" if math.isinf(claim.steps) else f"for {claim.steps:,.0f} steps"
        if claim.dt is not None and math.isfinite(claim.steps):
            when += f" ({claim.steps * claim.dt:g} s)"
        if claim.reach == "end":
            parts.append("the episode ends" + ("" if self.within is None else f" within {self.within} steps"))
        elif isinstance(claim.reach, dict):
            after = "in the end" if self.within is None else f"after at most {self.within} steps"
            parts.append(f"{after} {_named(claim.reach)}, {when}")
        if claim.goes_on:
            parts.append(f"the episode does not end {when}")
        if claim.never is not None:
            parts.append(f"{_named(claim.never)} {when}")
        if self.rest is not None:
            last = " x ".join(f"[{digits(a, math.floor, 3)}, {digits(b, math.ceil, 3)}]" for a, b in self.rest)
            nearer = digits(100.0 * (1.0 - self.factor), math.floor, 2)
            parts.append(f"every sample there is {nearer} % nearer to its middle, in the end in {last}")
        for first, final, where in claim.at:
            time = f"at {first:g} s" if first == final else f"from {first:g} to {final:g} s"
            parts.append(f"{_named(where)} {time}")
        if not math.isnan(self.worst_return):
            ends = f"at least {digits(self.worst_return, math.floor, 6)}"
            ends += "" if math.isnan(self.best_return) else f" and at most {digits(self.best_return, math.ceil, 6)}"
            for share, least in self.return_shares:
                ends += f", from {share_text(share)} of all starts at least {digits(least, math.floor, 6)}"
            over = "" if self.return_steps is None else f" of {self.return_steps:,} steps"
            parts.append(f"the return{over} is {ends}")
        start = _named(dict(zip(claim.variables, claim.start, strict=True)), False)
        said = (
            f"for every start{'' if self.holds else ' that is not open,'} with {start}: {'; '.join(parts)}."
            if self.evidence
            else f"{'; '.join(parts)}."
        )
        bounds = [
            f"{name} in [{digits(low, math.floor)}, {digits(high, math.ceil)}]"
            for name, (low, high) in self.bound.items()
        ]
        return said + (f" All the time {', '.join(bounds)}." if bounds and self.evidence else "")

    def __str__(self) -> str:
        return "\n".join(self._lines(f", {self.seconds:.1f} s"))


def _named(bounds: dict[str, tuple[float, float]], wider: bool = True) -> str:
    parts = []
    for name, (low, high) in bounds.items():
        ends = _ends(low, high, wider)
        point = f"{low:g}" if float(f"{low:g}") == low else repr(low)
        parts.append(f"{name} = {point}" if low == high else f"{name} in [{', '.join(ends)}]")
    return ", ".join(parts)


def _ends(low: float, high: float, wider: bool) -> list[str]:
    """Six digits, or all of them where six would promise more: narrower bounds, or starts from a wider box."""
    ends = []
    for value, outwards in ((low, -1.0), (high, 1.0)):
        more = outwards * (float(f"{value:g}") - value)
        ends.append(f"{value:g}" if (more >= 0.0 if wider else more <= 0.0) else repr(value))
    return ends


def json_of(proof: Proof) -> str:
    """A certificate as text; what is unknown or without end is null."""
    return json.dumps({"format": FORMAT} | _plain(asdict(proof)), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any, unknown: float) -> float:
    return unknown if value is None else float(value)


def digits(value: float, rounded: Callable[[float], int], count: int = 4) -> str:
    """So many digits, rounded so that the text does not promise more than the number."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    unit = 10.0 ** (count - 1 - math.floor(math.log10(abs(value))))
    return f"{rounded(value * unit) / unit:.{count}g}"


def share_text(share: float) -> str:
    """Rounded down."""
    return f"{math.floor(share * 1e4) / 100:g} %"


def proof_of_file(path: str | PathLike[str]) -> Proof:
    """A certificate as it was saved, read with distrust: what it says is checked by `check_proof`."""
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SpaqlError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise SpaqlError(f"{path} is no certificate: it is not JSON") from error
    if not isinstance(entries, dict) or entries.pop("format", None) != FORMAT:
        raise SpaqlError(f"{path} is no certificate of the form {FORMAT!r}")
    try:
        claim = Claim(**entries.pop("claim"))
        claim = replace(
            claim, start=_box(claim.start), steps=_number(claim.steps, math.inf),
            sensors=tuple(map(float, claim.sensors)),
            variables=tuple(map(str, claim.variables)), parameters=_bounds(claim.parameters),
            never=None if claim.never is None else _bounds(claim.never),
            reach=claim.reach if claim.reach is None or claim.reach == "end" else _bounds(claim.reach),
            at=tuple((float(low), float(high), _bounds(bounds)) for low, high, bounds in claim.at),
            dt=None if claim.dt is None else float(claim.dt), loop=tuple(map(str, claim.loop)),
        )  # fmt: skip
        if not (isinstance(claim.goes_on, bool) and isinstance(claim.single, bool)):
            raise ValueError("a truth of its claim is none")
        proof = Proof(claim, **(entries | {"counterexample": None}))
        if not {type(proof.within), type(proof.return_steps)} <= {int, type(None)}:
            raise ValueError("a number of steps is none")
        boxes = tuple(_box(box) for box in proof.open)
        evidence = tuple(dict(part) for part in proof.evidence)
        return replace(
            proof, open=boxes, evidence=evidence, bound=_bounds(proof.bound), share=float(proof.share),
            rest=None if proof.rest is None else _box(proof.rest), factor=_number(proof.factor, math.nan),
            seconds=float(proof.seconds), method=one_line(str(proof.method)), version=one_line(str(proof.version)),
            return_shares=tuple((float(share), float(least)) for share, least in proof.return_shares),
            worst_return=_number(proof.worst_return, math.nan), best_return=_number(proof.best_return, math.nan),
        )  # fmt: skip
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise SpaqlError(f"{path} is a damaged certificate: {echoed(error)}") from error


def _box(rows: Any) -> Box:
    return tuple((float(low), float(high)) for low, high in rows)


def _bounds(entries: Any) -> dict[str, tuple[float, float]]:
    return {str(name): (float(low), float(high)) for name, (low, high) in entries.items()}
