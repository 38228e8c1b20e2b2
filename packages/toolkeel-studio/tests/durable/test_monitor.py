"""Health and metrics of a worker, as a probe and a scraper read them."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.durable.working import done_in, durable_of, working
from tests.mcp.peers import free_port
from tests.waiting import until_sync
from toolkeel.errors import SetupError
from toolkeel_studio.durable.monitor import HEALTHY, published


def samples(text: str) -> dict[str, str]:
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in lines}


@pytest.mark.slow
def test_a_worker_tells_its_health_and_what_its_runs_came_to_at_an_address_and_in_a_file(
    tmp_path: Path,
) -> None:
    durable = durable_of(tmp_path, str(tmp_path / "talk.db"), pause=0.1)
    url, file = f"http://127.0.0.1:{(port := free_port())}", tmp_path / "worker.prom"
    for n in range(3):
        durable.start(f"run {n}", id=f"run {n}")
    with working(durable, health=f"127.0.0.1:{port}", metrics=f"127.0.0.1:{port}"):
        until_sync(lambda: len(done_in(tmp_path)) >= 2)
        health = httpx2.get(f"{url}/healthz")
        assert (health.status_code, health.text.strip()) == (200, HEALTHY)
        found = samples(httpx2.get(f"{url}/metrics").text)
        assert found["toolkeel_runs_in_progress"] == "1"
        assert found["toolkeel_runs_queued"] == "2"
        assert found['toolkeel_runs_total{reason="failed"}'] == "0"
        assert httpx2.get(f"{url}/else").status_code == 404
        assert all(durable.result(f"run {n}", 30).reason == "answered" for n in range(3))
        found = samples(httpx2.get(f"{url}/metrics").text)
        assert found['toolkeel_runs_total{reason="answered"}'] == "3"
        assert found["toolkeel_run_seconds_count"] == "3"
        assert found["toolkeel_recoveries_total"] == "0"
        assert float(found["process_resident_memory_bytes"]) > 1e6
    durable.start("run 3", id="run 3")
    with working(durable, health=str(tmp_path / "health"), metrics=str(file)) as ended:
        until_sync(file.exists)
        assert (tmp_path / "health").read_text().strip() == HEALTHY
        assert "toolkeel_runs_total" in file.read_text()
        assert durable.result("run 3", 30).reason == "answered"
    assert ended == [True] and not file.exists()
    durable.close()
    durable.sessions.close()


def test_a_page_that_is_not_healthy_has_its_status_and_pages_share_an_address() -> None:
    port = free_port()
    pages = {
        "/healthz": (f"127.0.0.1:{port}", lambda: (503, "ending\n")),
        "/metrics": (f"127.0.0.1:{port}", lambda: (200, "x 1\n")),
        "/nowhere": ("", lambda: (200, "")),
    }
    with published(pages):
        assert httpx2.get(f"http://127.0.0.1:{port}/healthz").status_code == 503
        assert httpx2.get(f"http://127.0.0.1:{port}/metrics?x=1").text == "x 1\n"
        for host, status in (("localhost", 200), ("[::1]:1", 200), ("evil.example", 404)):
            found = httpx2.get(f"http://127.0.0.1:{port}/metrics", headers={"host": host})
            assert found.status_code == status, host
        with (
            pytest.raises(SetupError, match=f"{port} cannot be listened on"),
            published({"/healthz": (f"127.0.0.1:{port}", lambda: (200, ""))}),
        ):
            pass


def test_a_file_that_cannot_be_written_is_refused_with_what_to_do(tmp_path: Path) -> None:
    page = {"/metrics": (str(tmp_path / "none" / "x.prom"), lambda: (200, ""))}
    with pytest.raises(SetupError, match=r"cannot be written.*another file"), published(page):
        pass
