"""Tools ready to use: files, shell, web, search in documents, code, computer, pictures."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.builtin.calculator import calculator as calculator
    from toolkeel.builtin.catalog import load as load
    from toolkeel.builtin.clock import clock as clock
    from toolkeel.builtin.code.interpreter import CodeInterpreterTool as CodeInterpreterTool
    from toolkeel.builtin.computer.browser import Browser as Browser
    from toolkeel.builtin.computer.tool import Computer as Computer
    from toolkeel.builtin.computer.tool import ComputerTool as ComputerTool
    from toolkeel.builtin.computer.tool import SafetyCheck as SafetyCheck
    from toolkeel.builtin.files.apply_patch import apply_patch as apply_patch
    from toolkeel.builtin.files.workspace import Workspace as Workspace
    from toolkeel.builtin.hosted_calls import hosted_items as hosted_items
    from toolkeel.builtin.hosted_mcp import HostedMCP as HostedMCP
    from toolkeel.builtin.pictures.generate import ImageGenerationTool as ImageGenerationTool
    from toolkeel.builtin.search.embeddings import Embeddings as Embeddings
    from toolkeel.builtin.search.file_search import FileSearchTool as FileSearchTool
    from toolkeel.builtin.search.indexing import index_folder as index_folder
    from toolkeel.builtin.search.open_store import open_store as open_store
    from toolkeel.builtin.search.postgres_store import PostgresStore as PostgresStore
    from toolkeel.builtin.search.qdrant_store import QdrantStore as QdrantStore
    from toolkeel.builtin.search.stores import Embedder as Embedder
    from toolkeel.builtin.search.stores import Source as Source
    from toolkeel.builtin.search.stores import Store as Store
    from toolkeel.builtin.search.vector_store import VectorStore as VectorStore
    from toolkeel.builtin.shell.local_shell import local_shell as local_shell
    from toolkeel.builtin.shell.local_shell import shell as shell
    from toolkeel.builtin.weather import Weather as Weather
    from toolkeel.builtin.web.client import WebLimits as WebLimits
    from toolkeel.builtin.web.fetch import fetch_tool as fetch_tool
    from toolkeel.builtin.web.search import UserLocation as UserLocation
    from toolkeel.builtin.web.search import WebSearchTool as WebSearchTool
    from toolkeel.builtin.web.search import WebSearchToolFilters as WebSearchToolFilters
    from toolkeel.builtin.web.search_backends import Brave as Brave
    from toolkeel.builtin.web.search_backends import Ddgs as Ddgs
    from toolkeel.builtin.web.search_backends import SearchBackend as SearchBackend
    from toolkeel.builtin.web.search_backends import SearXNG as SearXNG
    from toolkeel.builtin.web.search_backends import Tavily as Tavily
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "builtin.calculator": "calculator",
            "builtin.catalog": "load",
            "builtin.clock": "clock",
            "builtin.code.interpreter": "CodeInterpreterTool",
            "builtin.computer.browser": "Browser",
            "builtin.computer.tool": "Computer ComputerTool SafetyCheck",
            "builtin.files.apply_patch": "apply_patch",
            "builtin.files.workspace": "Workspace",
            "builtin.hosted_calls": "hosted_items",
            "builtin.hosted_mcp": "HostedMCP",
            "builtin.pictures.generate": "ImageGenerationTool",
            "builtin.search.embeddings": "Embeddings",
            "builtin.search.file_search": "FileSearchTool",
            "builtin.search.indexing": "index_folder",
            "builtin.search.open_store": "open_store",
            "builtin.search.postgres_store": "PostgresStore",
            "builtin.search.qdrant_store": "QdrantStore",
            "builtin.search.stores": "Embedder Source Store",
            "builtin.search.vector_store": "VectorStore",
            "builtin.shell.local_shell": "local_shell shell",
            "builtin.weather": "Weather",
            "builtin.web.client": "WebLimits",
            "builtin.web.fetch": "fetch_tool",
            "builtin.web.search": "UserLocation WebSearchTool WebSearchToolFilters",
            "builtin.web.search_backends": "Brave Ddgs SearXNG SearchBackend Tavily",
        },
    )
