"""Write the pages of the site into build/site/docs: the README as its first page, the guides, the
examples, a reference of the public places, and llms.txt for programs that read documents.

Links that lead out of docs/ lead to a page where there is one; what has none (tests, sources) keeps
its words.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.gates.doors import PUBLIC  # noqa: E402

OUT = ROOT / "build" / "site" / "docs"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def main() -> None:
    """Write them all."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(ROOT / "docs", OUT)
    for page in OUT.glob("*.md"):
        page.write_text(linked(page.read_text("utf-8"), ""), "utf-8")
    (OUT / "index.md").write_text(linked((ROOT / "README.md").read_text("utf-8"), "docs/"), "utf-8")
    (OUT / "index.zh.md").write_text(
        linked((ROOT / "README.zh-CN.md").read_text("utf-8"), "docs/"), "utf-8"
    )
    (OUT / "examples").mkdir()
    for example in sorted((ROOT / "examples").glob("*.py")):
        body = f"# {example.name}\n\n```python\n{example.read_text('utf-8')}```\n"
        (OUT / "examples" / f"{example.stem}.md").write_text(body, "utf-8")
    (OUT / "reference.md").write_text(reference(), "utf-8")
    (OUT / "llms.txt").write_text(listed(), "utf-8")


def linked(text: str, here: str) -> str:
    """A page with its links as the site has them; `here` is what its own links begin with."""

    def follow(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        path, hash_, part = target.partition("#")
        if not path or ":" in path:
            return match[0]
        path = path.removeprefix("../") if not here else path
        inside = path.removeprefix("docs/") if here or path.startswith("docs/") else path
        if (OUT / inside).is_file():
            return f"{mark}[{words}]({inside}{hash_}{part})"
        if re.fullmatch(r"examples/\w+\.py", path):
            return f"[{words}]({path.removesuffix('.py')}.md)"
        known = {"README.md": "index.md", "README.zh-CN.md": "index.zh.md", "docs/": "cli.md"}
        return f"[{words}]({known[path]})" if path in known else words

    return LINK.sub(follow, text)


def reference() -> str:
    """Every public place, from its docstrings."""
    return "# Reference\n\nEvery public place, from its docstrings.\n\n" + "\n".join(
        f"::: {name}\n" for name in sorted(PUBLIC)
    )


def listed() -> str:
    """Every page on a line, with its first sentence."""
    lines = ["# toolkeel", "", "> Define a tool once; any model can call it.", "", "## Pages", ""]
    for page in sorted(OUT.glob("*.md")):
        title, _, rest = page.read_text("utf-8").partition("\n")
        lines.append(f"- [{title.lstrip('# ')}]({page.name}): {first_sentence(rest)}")
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
