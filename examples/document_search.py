"""Questions about a folder of documents: an index, a search with sources, an answer that names them."""

import tempfile
from pathlib import Path

from toolkeel import Agent, ToolMessage
from toolkeel.testing import Scripted, call
from toolkeel_workspace import FileSearchTool, VectorStore, index_folder

HANDBOOK = Path(__file__).parent / "workbench" / "handbook"


def answer(request):
    """What a model would do with what was found; ``Agent("openai:gpt-5", ...)`` does it by itself."""
    found = [message.text for message in request.messages if isinstance(message, ToolMessage)]
    if not found:
        return [call("file_search", {"query": "泊位 访客"})]
    return "Guests lie at B1 to B4 (泊位.md)." if "泊位.md" in found[0] else "I do not know."


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "handbook.sqlite")
        with VectorStore(path) as store:
            index_folder(store, HANDBOOK)
        search = FileSearchTool([path], max_num_results=2)
        for hit in search.search("How much water under the keel?")[:1]:
            print("found:", hit.filename)
        agent = Agent(Scripted([answer, answer]), [search])
        print("answer:", agent.run_sync("Where do guests lie?").output)


if __name__ == "__main__":
    main()
