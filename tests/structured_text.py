"""A small interpreter of Structured Text: it knows the grammar of IEC 61131-3 as far as exports use it."""

import re

import numpy as np

from spaql.export.heading import ST_WORDS

TOKEN = re.compile(
    r"\s*(?:(?P<comment>\(\*.*?\*\))|(?P<real>LREAL#[+-]?\d+\.\d+(?:E[+-]?\d+)?)|(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>:=|>=|[-+*;:]))",
    re.DOTALL,
)


class Block:
    """A function block: reads the text once, then runs it."""

    def __init__(self, text):
        self.tokens, place = [], 0
        text = text.rstrip()
        while place < len(text):
            found = TOKEN.match(text, place)
            assert found, f"no token at {text[place : place + 40]!r}"
            assert found["comment"] is None or "(*" not in found["comment"][2:], "a comment in a comment"
            self.tokens += [] if found["comment"] else [(found.lastgroup, found[found.lastgroup])]
            place = found.end()
        self.take("FUNCTION_BLOCK")
        self.name = self.identifier()
        self.inputs, self.outputs = self.variables("VAR_INPUT"), self.variables("VAR_OUTPUT")
        folded = [word.lower() for word in [self.name, *self.inputs, *self.outputs]]
        assert len(set(folded)) == len(folded)
        self.body = self.statements()
        self.take("END_FUNCTION_BLOCK")
        assert not self.tokens

    def take(self, *wanted):
        assert self.tokens, f"the text ends where {wanted} should be"
        kind, text = self.tokens.pop(0)
        assert text in wanted or kind in wanted, f"{text} where {wanted} should be"
        return text

    def identifier(self):
        word = self.take("word")
        assert "__" not in word
        assert not word.endswith("_")
        assert word.lower() not in ST_WORDS
        return word

    def variables(self, section):
        self.take(section)
        names = []
        while self.tokens[0][1] != "END_VAR":
            names.append(self.identifier())
            for sign in (":", "LREAL", ";"):
                self.take(sign)
        self.take("END_VAR")
        return names

    def statements(self):
        found = []
        while self.tokens[0][1] not in ("ELSIF", "ELSE", "END_IF", "END_FUNCTION_BLOCK"):
            found.append(self.choice() if self.tokens[0][1] == "IF" else self.assignment())
        return found

    def assignment(self):
        name = self.identifier()
        assert name in self.outputs
        self.take(":=")
        value = self.real()
        self.take(";")
        return name, value

    def choice(self):
        branches, word = [], self.take("IF")
        while word in ("IF", "ELSIF"):
            test = self.comparison()
            self.take("THEN")
            branches.append((test, self.statements()))
            word = self.take("ELSIF", "ELSE", "END_IF")
        assert word == "ELSE"
        otherwise = self.statements()
        self.take("END_IF")
        self.take(";")
        return branches, otherwise

    def real(self):
        return float(self.take("real").removeprefix("LREAL#"))

    def comparison(self):
        terms = [self.term(1.0 if self.tokens[0][1] != "-" else self.sign())]
        while self.tokens[0][1] in "+-":
            terms.append(self.term(self.sign()))
        self.take(">=")
        return terms, self.real()

    def sign(self):
        return 1.0 if self.take("+", "-") == "+" else -1.0

    def term(self, sign):
        if self.tokens[0][0] == "word":
            return sign, self.inputs.index(self.identifier())
        weight = self.real()
        self.take("*")
        return sign * weight, self.inputs.index(self.identifier())

    def run(self, state):
        memory, todo = {}, [self.body]
        while todo:
            for statement in todo.pop():
                if isinstance(statement[0], str):
                    memory[statement[0]] = statement[1]
                else:
                    branches, otherwise = statement
                    todo.append(next((body for test, body in branches if passes(test, state)), otherwise))
        return [memory[name] for name in self.outputs]


def passes(test, state):
    terms, cut = test
    total = terms[0][0] * state[terms[0][1]]
    for weight, j in terms[1:]:
        total += weight * state[j]
    return total >= cut


class LawBlock(Block):
    """The interpreter of Structured Text with sums on the right of an assignment, LIMIT, and VAR."""

    def __init__(self, text):
        self.local = re.findall(r"^    (\w+) : LREAL;$", text.partition("\nVAR\n")[2].partition("END_VAR")[0], re.MULTILINE)
        text = re.sub(r"\nVAR\n.*?END_VAR", "", text, count=1, flags=re.DOTALL)
        limited = r"LIMIT\((LREAL#\S+), SEL\((\w+) = \2, (LREAL#\S+), \2\), (LREAL#\S+)\);"
        text = re.sub(limited, r"LIMIT : \1 : \3 : \2 : \4;", text)
        super().__init__(re.sub(r"score > best", "score >= best", text) if self.local else text)

    def identifier(self):
        return self.tokens.pop(0)[1] if self.tokens[0][1] in self.local else super().identifier()

    def assignment(self):
        name = self.identifier()
        assert name in [*self.outputs, *self.local]
        self.take(":=")
        limited = self.tokens[0][1] == "LIMIT"
        if limited:
            self.take("LIMIT")
            self.take(":")
            low = self.real()
            self.take(":")
            otherwise = self.real()
            self.take(":")
        terms = self.sum()
        if limited:
            self.take(":")
            high = self.real()
        self.take(";")
        return name, (terms, low, high, otherwise) if limited else (terms, -np.inf, np.inf, np.nan)

    def sum(self):
        terms = [self.term(1.0 if self.tokens[0][1] != "-" else self.sign())]
        while self.tokens[0][1] in "+-":
            terms.append(self.term(self.sign()))
        return terms

    def term(self, sign):
        if self.tokens[0][0] == "word":
            return sign, self.identifier()
        weight = self.real()
        if self.tokens[0][1] != "*":
            return sign * weight, None
        self.take("*")
        return sign * weight, self.identifier()

    def comparison(self):
        terms = self.sum()
        self.take(">=")
        return terms, (self.identifier() if self.tokens[0][0] == "word" else self.real())

    def run(self, state):
        memory = dict(zip(self.inputs, state, strict=True))

        def total(terms):
            value = None
            for weight, name in terms:
                part = weight if name is None else weight * memory[name]
                value = part if value is None else value + part
            return value

        def passes(test):
            terms, cut = test
            return total(terms) > memory[cut] if isinstance(cut, str) else total(terms) >= cut

        def execute(statements):
            for one in statements:
                if isinstance(one[0], str):
                    terms, low, high, otherwise = one[1]
                    value = total(terms)
                    memory[one[0]] = min(max(otherwise if np.isnan(value) else value, low), high)
                else:
                    execute(next((body for test, body in one[0] if passes(test)), one[1]))

        execute(self.body)
        return [memory[name] for name in self.outputs]

    def choice(self):
        branches, word = [], self.take("IF")
        while word in ("IF", "ELSIF"):
            test = self.comparison()
            self.take("THEN")
            branches.append((test, self.statements()))
            word = self.take("ELSIF", "ELSE", "END_IF")
        otherwise = self.statements() if word == "ELSE" else []
        if word == "ELSE":
            self.take("END_IF")
        self.take(";")
        return branches, otherwise
