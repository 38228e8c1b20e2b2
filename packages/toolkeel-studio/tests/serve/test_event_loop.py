"""No request of a front end makes the event loop, and so everybody else, wait for the database."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

from tests.serve.serving import serve
from tests.serve.talking import PAY, Talk, calls, look, pay, talking, text
from tests.serve.vercel.test_routes import decided, message
from toolkeel import Agent
from toolkeel.sessions.stores.sqlite import SQLiteStore
from toolkeel.testing import Scripted
from toolkeel_studio.serve.app import app
