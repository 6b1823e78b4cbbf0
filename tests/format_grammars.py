"""Grammars of the formats of exports that have no parser in Python's library: DOT and LaTeX, as strict as they go."""

from functools import cache

from lark import Lark, Tree

# https://graphviz.org/doc/info/lang.html, without subgraphs, ports and HTML. Strings keep to one line.
DOT = r"""
start: "digraph" ID "{" (statement ";")* "}"
?statement: setting | edge | node
setting: ID "=" value
node: ID attributes
edge: ID "->" ID attributes
attributes: "[" [attribute ("," attribute)*] "]"
attribute: ID "=" value
?value: ID | NUMBER | STRING
STRING: /"(\\["\\nlrNGE]|[^"\\\n])*"/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
ID: /[A-Za-z_][A-Za-z0-9_]*/
%ignore /[ \n]+/
"""

# What exports use: a table of text, or an align* of formulas in which text stands in \text. A sign that LaTeX reads as
# a command (& % $ # _ { } ~ ^ \) is an error wherever it does not stand for one, and commands must be known.
LATEX = r"""
start: (COMMENT | table | align)*
table: BEGIN_TABLE "{@{}" COLUMNS "@{}}" (RULE | row)* END_TABLE
row: cell ("&" cell)* ROW_END
cell: text*
?text: WORD | ESCAPED | LETTER | inline | braced
inline: "$" math+ "$"
braced: "{" text* "}"

align: BEGIN_ALIGN lines END_ALIGN
lines: line | lines ROW_END line | lines ROW_END
line: math* "&" math*
?math: NUMBER | SIGN | COMMAND | SYMBOL | said | cases | aligned | group | raised
said: TEXT "{" text* "}"
group: "{" math* "}"
raised: "^" (NUMBER | group)
cases: BEGIN_CASES lines END_CASES
aligned: BEGIN_ALIGNED lines END_ALIGNED

COLUMNS: /[lr]+/
BEGIN_TABLE.3: /\\begin\{(tabular|longtable)\}/
END_TABLE.3: /\\end\{(tabular|longtable)\}/
BEGIN_ALIGN.3: "\\begin{align*}"
END_ALIGN.3: "\\end{align*}"
BEGIN_CASES.3: "\\begin{cases}"
END_CASES.3: "\\end{cases}"
BEGIN_ALIGNED.3: /(\\left\\\{)?\\begin\{aligned\}(\[t\])?/
END_ALIGNED.3: /\\end\{aligned\}(\\right\.)?/
TEXT.3: "\\text"
RULE.3: /\\(toprule|midrule|bottomrule|endhead)/
ROW_END.3: "\\\\"
COMMENT.3: /%[^\n]*/
ESCAPED.2: /\\[&%$#_{}]/
LETTER.2: /\\(textbackslash|textasciitilde|textdegree|dots|\^)\{\}/
COMMAND.2: /\\(operatorname\{clip\}|[bB]ig[lr]([()]|\\[lr]floor)|geq|leq|cdot|pm|times|infty|quad|theta|xi|mu|[, ])/
NUMBER: /[0-9]+(\.[0-9]+)?/
SYMBOL: /[A-Za-z]/
SIGN: /[-+=<>(),.:]/
WORD: /[^\\{}$&#_%^~\n ]+/
%ignore /[ \n]+/
"""


@cache
def _parser(grammar: str) -> Lark:
    return Lark(grammar, parser="lalr")


def dot(text: str) -> Tree:
    return _parser(DOT).parse(text)


def latex(text: str) -> Tree:
    return _parser(LATEX).parse(text)
