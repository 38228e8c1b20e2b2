"""Write the pages of the site into build/site/docs: the README as its first page, the guides, the
examples, a reference of the public places, and llms.txt for programs that read documents.

Links that lead out of docs/ lead to a page where there is one; what has none (tests, sources) keeps
its words.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.gates.doors import PUBLIC  # noqa: E402

OUT = ROOT / "build" / "site" / "docs"
READMES = {"README.md": "index.md", "README.zh-CN.md": "index.zh.md"}
CONTENTS = "contents.md"
"""The page of the site that is ``docs/README.md``: a README beside an index is no page there."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def main() -> None:
    """Write them all."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(ROOT / "docs", OUT)
    (OUT / "README.md").rename(OUT / CONTENTS)
    for page in guides():
        folder = page.parent.relative_to(OUT).as_posix()
        page.write_text(linked(page.read_text("utf-8"), f"docs/{folder}", folder), "utf-8")
    for readme, name in READMES.items():
        text = linked((ROOT / readme).read_text("utf-8"), "", "")
        (OUT / name).write_text(text, "utf-8")
    (OUT / "examples").mkdir()
    for example in sorted((ROOT / "examples").glob("*.py")):
        body = f"# {example.name}\n\n```python\n{example.read_text('utf-8')}```\n"
        (OUT / "examples" / f"{example.stem}.md").write_text(body, "utf-8")
    (OUT / "reference.md").write_text(reference(), "utf-8")
    (OUT / "llms.txt").write_text(listed(), "utf-8")


def guides() -> list[Path]:
    """Return the pages of the site that are written by hand, the project's own pages included."""
    return sorted([*OUT.glob("*.md"), *OUT.glob("project/*.md")])


def linked(text: str, folder: str, to: str) -> str:
    """Convert a page's links to those of the site.

    Args:
        folder: The folder of the page in the repository, to which its links are relative.
        to: The folder of the page in the site.
    """

    def follow(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        path, hash_, part = target.partition("#")
        if not path or ":" in path:
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, path))
        page = CONTENTS if path in ("docs", "docs/README.md") else path.removeprefix("docs/")
        inside = READMES.get(path, page)
        if re.fullmatch(r"examples/\w+\.py", path):
            inside = f"{path.removesuffix('.py')}.md"
        elif path not in (*READMES, "docs") and not (OUT / inside).is_file():
            return words
        return f"{mark}[{words}]({posixpath.relpath(inside, to or '.')}{hash_}{part})"

    return LINK.sub(follow, text)


def reference() -> str:
    """Every public place, from its docstrings."""
    return "# Reference\n\nEvery public place, from its docstrings.\n\n" + "\n".join(
        f"::: {name}\n" for name in sorted(PUBLIC)
    )


def listed() -> str:
    """Every page on a line, with its first sentence."""
    lines = ["# toolkeel", "", "> Define a tool once; any model can call it.", "", "## Pages", ""]
    for page in guides():
        title, _, rest = page.read_text("utf-8").partition("\n")
        place = page.relative_to(OUT).as_posix()
        lines.append(f"- [{title.lstrip('# ')}]({place}): {first_sentence(rest)}")
    return "\n".join(lines) + "\n"


def first_sentence(text: str) -> str:
    """That of the first paragraph that is prose: no code, table, picture or heading.

    >>> first_sentence("```sh\\npip install x\\n```\\n\\nIt is `x.y`. More.")
    'It is `x.y`.'
    """
    prose = re.sub(r"(?ms)^```.*?^```$|^<!--.*?-->$", "", text)
    found = next((part for part in prose.split("\n\n") if re.match(r"[\w\[`*]", part.strip())), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(found.split()))
    sentence = re.match(r".*?(?:\.(?= |$)|。\**|$)", plain)
    return sentence[0] if sentence else plain


if __name__ == "__main__":
    main()
