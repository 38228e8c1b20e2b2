"""Documents and questions made from the docstrings of installed packages.

A document is a module. A question is made of one sentence that stands nowhere else, and which is
taken out of its document: either as it was written, or some of its words in another order. The
document it came from is what must be found. Questions about one half of the packages are for
trying things out; those about the other half are kept for the figures.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from toolkeel._common.split_words import STOPWORDS

A_PACKAGE = 80
"""Most documents of one package: some have thousands that say the same."""
CHARACTERS = 4000
"""Most of one document."""
QUESTIONS = 500
SEED = 7
_TESTS = frozenset(("test", "tests", "testing", "_vendor"))


class Question(NamedTuple):
    """What is asked, in three ways.

    Args:
        words: Some words of the sentence, in another order.
        sentence: The sentence itself.
        reworded: The sentence in other words; empty if fewer than three could be replaced.
        document: What answers it.
    """

    words: str
    sentence: str
    reworded: str
    document: str


_PAIRS = """
    add:append added:appended adds:appends all:every allow:permit allows:permits applied:used
    applies:uses apply:use argument:parameter arguments:parameters array:vector arrays:vectors
    average:mean base:parent build:put_together builds:puts_together calculate:work_out
    calculates:works_out call:invoke called:invoked calls:invokes check:test checks:tests
    class:type classes:types close:shut closes:shuts combine:merge combines:merges
    compare:contrast compares:contrasts compute:calculate computed:calculated
    computes:calculates computing:calculating configuration:settings connection:link
    connections:links construct:assemble constructs:assembles contain:hold containing:holding
    contains:holds convert:turn converted:turned converts:turns copies:duplicates
    copy:duplicate create:make created:made creates:makes creating:making current:present
    data:records default:standard define:describe defined:given defines:describes delete:erase
    deletes:erases determine:find_out determines:finds_out dict:mapping dictionaries:mappings
    dictionary:mapping different:other directories:folders directory:folder display:show
    displays:shows distribution:spread each:every edge:link edges:links element:item
    elements:items empty:blank end:finish equal:identical error:failure errors:failures
    exception:failure exceptions:failures execute:carry_out executes:carries_out file:document
    files:documents find:locate finds:locates first:initial function:routine
    functions:routines generate:produce generated:produced generates:produces get:obtain
    gets:obtains given:provided graph:net graphs:nets handle:take_care_of
    handles:takes_care_of information:details input:given_data inputs:given_data
    instance:exemplar instances:exemplars invalid:wrong item:entry items:entries
    key:identifier keys:identifiers last:final length:extent list:sequence lists:sequences
    load:read_in loads:reads_in match:fit matches:fits matching:fitting matrices:tables
    matrix:table maximum:largest mean:average message:note messages:notes method:way
    methods:ways minimum:smallest model:network models:networks multiple:several name:label
    names:labels new:fresh next:following node:vertex nodes:vertices number:count object:thing
    objects:things open:access opens:accesses option:choice optional:not_required
    options:choices output:result outputs:results parameter:argument parameters:arguments
    parse:interpret parses:interprets path:location paths:locations perform:carry_out
    performs:carries_out previous:earlier print:output prints:outputs probability:chance
    product:multiplication provided:supplied raise:throw raised:thrown raises:throws
    random:arbitrary read:load reads:loads receive:accept receives:accepts remove:delete
    removed:deleted removes:deletes replace:substitute replaces:substitutes
    represent:stand_for representing:standing_for represents:stands_for request:query
    requests:queries require:need required:needed requires:needs response:reply
    responses:replies result:outcome results:outcomes return:give returned:given returns:gives
    run:execute runs:executes same:identical sample:draw samples:draws search:look_for
    searches:looks_for send:transmit sends:transmits set:assign sets:assigns several:many
    show:display shows:displays single:one size:extent sort:order sorted:ordered sorts:orders
    specified:stated split:divide splits:divides start:begin starts:begins stop:halt
    stops:halts store:keep stored:kept stores:keeps string:text strings:texts sum:total
    support:handle supports:handles type:kind types:kinds update:refresh updates:refreshes
    use:employ used:employed user:person users:people uses:employs using:with valid:correct
    value:quantity values:quantities wait:pause waits:pauses whether:if write:save
    writes:saves
    """
_OTHER_WORDS = dict(pair.replace("_", " ").split(":") for pair in _PAIRS.split())
"""What else people say for words that are common in such sentences."""
REPLACED = 3
"""Least words replaced in a reworded question."""


class Corpus(NamedTuple):
    """Documents by name, and questions: to try things out, and kept for the figures."""

    documents: Mapping[str, str]
    tried: Sequence[Question]
    kept: Sequence[Question]


def corpus() -> Corpus:
    """What is searched, and what is asked; the same every time with the same packages."""
    chance = random.Random(SEED)
    texts = dict(modules(chance))
    seen = Counter(line for parts in texts.values() for part in parts for line in _lines(part))
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for name, parts in texts.items():
        made = question(name, parts, seen, chance)
        if made is not None:
            questions.append(made)
            parts = [part.replace(made.sentence, "") for part in parts]
        documents[name] = "\n\n".join(parts)
    chance.shuffle(questions)
    halves: tuple[list[Question], list[Question]] = ([], [])
    for each in questions:
        halves[zlib.crc32(each.document.partition("__")[0].encode()) % 2].append(each)
    return Corpus(documents, halves[0][:QUESTIONS], halves[1][:QUESTIONS])


def modules(chance: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Name and docstrings of each module that has enough of them."""
    root = Path(sysconfig.get_paths()["purelib"])
    paths = sorted(root.rglob("*.py"))
    chance.shuffle(paths)
    taken: Counter[str] = Counter()
    for path in paths:
        place = path.relative_to(root)
        if taken[place.parts[0]] == A_PACKAGE or not _TESTS.isdisjoint(place.parts):
            continue
        parts, size = list[str](), 0
        for text in docstrings(path):
            if size + len(text) > CHARACTERS:
                break
            parts.append(text)
            size += len(text)
        if size >= 600:
            taken[place.parts[0]] += 1
            yield place.as_posix().replace("/", "__").removesuffix(".py") + ".md", parts


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a module, in order."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                heading = f"## {node.name}\n" if not isinstance(node, ast.Module) else ""
                yield heading + text


def question(
    name: str, parts: Sequence[str], seen: Mapping[str, int], chance: random.Random
) -> Question | None:
    """A question about a document; None if no sentence of it is fit."""
    lines = [line for part in parts[1:] for line in _lines(part)[:2]]
    fit = [line for line in lines if 8 <= len(line.split()) <= 20 and seen[line] == 1]
    chance.shuffle(fit)
    for sentence in fit:
        words = [word.strip(".,:;()`'\"") for word in sentence.split()]
        telling = [word for word in words if word.isalpha() and word.lower() not in STOPWORDS]
        if len(telling) >= 5:
            some = chance.sample(telling, max(4, len(telling) * 2 // 3))
            return Question(" ".join(some), sentence, reworded(sentence), name)
    return None


def reworded(sentence: str) -> str:
    """A sentence in other words; empty if too few of them could be replaced.

    >>> reworded("Return the given value as a new array")
    'give the provided quantity as a fresh vector'
    """
    words = re.findall(r"\w+|\W+", sentence)
    other = [_OTHER_WORDS.get(word.lower(), word) for word in words]
    changed = sum(new != old for new, old in zip(other, words, strict=True))
    return "".join(other) if changed >= REPLACED else ""


def _lines(part: str) -> list[str]:
    return [line for line in part.splitlines() if not line.startswith("## ")]
