"""Ready-made tools, and safe places to run them; programs import all of them from here.

files     files below one root: read, write, edit, find, grep, patch
shell     commands: bash, background jobs, lasting shells; their output, limits and end
sandbox   which files, hosts and system calls a command is confined to
web       fetch and search, without a way into private networks
search    documents: split, stored in SQLite, PostgreSQL or Qdrant, ranked
code      running the Python a model writes, in a process of its own or a kernel
computer  a screen that a model sees and acts on
skills    Agent Skills: instructions that a model loads, with files and scripts
pictures  pictures: checked, shrunk, generated
data_results  how tables and figures that tools return are shown to a model
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_workspace.code.interpreter import CodeInterpreterTool as CodeInterpreterTool
    from toolkeel_workspace.computer.browser import Browser as Browser
    from toolkeel_workspace.computer.tool import Computer as Computer
    from toolkeel_workspace.computer.tool import ComputerTool as ComputerTool
    from toolkeel_workspace.computer.tool import SafetyCheck as SafetyCheck
    from toolkeel_workspace.files.apply_patch import apply_patch as apply_patch
    from toolkeel_workspace.files.workspace import Workspace as Workspace
    from toolkeel_workspace.pictures.generate import ImageGenerationTool as ImageGenerationTool
    from toolkeel_workspace.sandbox.confine import Sandbox as Sandbox
    from toolkeel_workspace.sandbox.protected_files import PROTECTED as PROTECTED
    from toolkeel_workspace.search.embeddings import Embeddings as Embeddings
    from toolkeel_workspace.search.file_search import FileSearchTool as FileSearchTool
    from toolkeel_workspace.search.indexing import index_folder as index_folder
    from toolkeel_workspace.search.open_store import open_store as open_store
    from toolkeel_workspace.search.postgres_store import PostgresStore as PostgresStore
    from toolkeel_workspace.search.qdrant_store import QdrantStore as QdrantStore
    from toolkeel_workspace.search.stores import Embedder as Embedder
    from toolkeel_workspace.search.stores import Source as Source
    from toolkeel_workspace.search.stores import Store as Store
    from toolkeel_workspace.search.vector_store import VectorStore as VectorStore
    from toolkeel_workspace.shell.local_shell import local_shell as local_shell
    from toolkeel_workspace.shell.local_shell import shell as shell
    from toolkeel_workspace.skills.repository_instructions import (
        RepositoryInstructions as RepositoryInstructions,
    )
    from toolkeel_workspace.skills.skills import Skills as Skills
    from toolkeel_workspace.web.client import WebLimits as WebLimits
    from toolkeel_workspace.web.fetch import fetch_tool as fetch_tool
    from toolkeel_workspace.web.search import UserLocation as UserLocation
    from toolkeel_workspace.web.search import WebSearchTool as WebSearchTool
    from toolkeel_workspace.web.search import WebSearchToolFilters as WebSearchToolFilters
    from toolkeel_workspace.web.search_backends import Brave as Brave
    from toolkeel_workspace.web.search_backends import Ddgs as Ddgs
    from toolkeel_workspace.web.search_backends import SearchBackend as SearchBackend
    from toolkeel_workspace.web.search_backends import SearXNG as SearXNG
    from toolkeel_workspace.web.search_backends import Tavily as Tavily
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel_workspace.code.interpreter": "CodeInterpreterTool",
            "toolkeel_workspace.computer.browser": "Browser",
            "toolkeel_workspace.computer.tool": "Computer ComputerTool SafetyCheck",
            "toolkeel_workspace.files.apply_patch": "apply_patch",
            "toolkeel_workspace.skills.repository_instructions": "RepositoryInstructions",
            "toolkeel_workspace.files.workspace": "Workspace",
            "toolkeel_workspace.pictures.generate": "ImageGenerationTool",
            "toolkeel_workspace.sandbox.confine": "Sandbox",
            "toolkeel_workspace.sandbox.protected_files": "PROTECTED",
            "toolkeel_workspace.search.embeddings": "Embeddings",
            "toolkeel_workspace.search.file_search": "FileSearchTool",
            "toolkeel_workspace.search.indexing": "index_folder",
            "toolkeel_workspace.search.open_store": "open_store",
            "toolkeel_workspace.search.postgres_store": "PostgresStore",
            "toolkeel_workspace.search.qdrant_store": "QdrantStore",
            "toolkeel_workspace.search.stores": "Embedder Source Store",
            "toolkeel_workspace.search.vector_store": "VectorStore",
            "toolkeel_workspace.shell.local_shell": "local_shell shell",
            "toolkeel_workspace.skills.skills": "Skills",
            "toolkeel_workspace.web.client": "WebLimits",
            "toolkeel_workspace.web.fetch": "fetch_tool",
            "toolkeel_workspace.web.search": "UserLocation WebSearchTool WebSearchToolFilters",
            "toolkeel_workspace.web.search_backends": "Brave Ddgs SearchBackend SearXNG Tavily",
        },
    )
