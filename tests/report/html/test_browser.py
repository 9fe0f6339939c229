"""The page in a headless Chromium: it asks no network, complains of nothing, and can be used by eye, key and ear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npukernelbench.report.comparison.records import RunRecord
from npukernelbench.report.html.page import pack, write_page
from npukernelbench.report.html.page import page as page_of
from npukernelbench.report.html.tables import tables_page
from npukernelbench.report.leaderboard import board_parts, leaderboards
from npukernelbench.report.table import Column, Table
from npukernelbench.store import StoredRun, read_run
from tests.report.html.browser import nameless, opened, picture
from tests.report.whole_run import a_run, a_search

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(stored: StoredRun, tmp_path_factory: pytest.TempPathFactory) -> str:
    (path,) = write_page(stored, tmp_path_factory.mktemp("page") / "report.html")
    return path.as_uri()


def test_the_overview(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        assert "3 of 6 counted samples are right" in page.inner_text("#words")
        pictures = page.locator('svg[role="img"]')
        assert pictures.count() >= 4
        assert (
            page.get_by_text("Numbers", exact=True).count() == pictures.count()
        )  # the same as a table beside every chart
        shown = page.locator(".chart", has_text="How samples ended").locator("figure svg text").all_text_contents()
        assert sorted(text for text in shown if text.isdigit()) == ["0", "1", "2", "3", "3", "3", "3"]  # axis, bars
        page.get_by_text("Numbers", exact=True).last.click()
        rows = page.locator(".chart table tbody tr")
        rows.first.wait_for()  # made when it is opened
        assert rows.count() == 3
        assert nameless(page) == []
        picture(page, "overview")


def test_a_mark_of_a_chart_tells_what_it_is_and_leads_to_its_sample(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        cells = page.locator(".chart", has_text="Every sample").locator("figure svg")
        assert cells.locator('g[aria-label="geo"] path, path[fill^="var"]').count() <= 3  # one shape per colour
        cells.hover(position={"x": 6, "y": 6})
        assert cells.get_by_text("Task0 / 0 / 0").is_visible()
        cells.click(position={"x": 6, "y": 6})
        page.wait_for_selector("#sample h1")
        assert page.url.endswith("#/sample/Task0/0/static/0")
        assert "Task0 / 0 / 0" in page.inner_text("#sample h1")


def test_a_search_has_curves(browser: Browser, tmp_path: Path) -> None:
    """Right and speed-up, each against kernels, tokens, money and seconds."""
    path, *_ = write_page(read_run(a_search(tmp_path / "run")), tmp_path / "report.html")
    with opened(browser, path.as_uri()) as page:
        headings = page.locator(".chart h2").all_inner_texts()
        measures = ("judged kernels", "tokens", "money", "seconds")
        curves = [f"{what} against {measure}" for measure in measures for what in ("Right", "Speed-up")]
        assert [heading for heading in headings if " against " in heading and "roofline" not in heading] == curves
        numbers = page.locator(".chart", has_text="Speed-up against money")
        numbers.get_by_text("Numbers", exact=True).click()
        numbers.locator("tbody tr").first.wait_for()
        assert numbers.locator("tbody tr").all_inner_texts() == ["2\t0.0020\t1.00", "3\t0.0030\t2.00"]
        assert nameless(page) == []
        picture(page, "search")


def test_a_sample_shows_its_calls(browser: Browser, tmp_path: Path) -> None:
    path, *_ = write_page(read_run(a_search(tmp_path / "run", (4.0,), strategy="tools")), tmp_path / "report.html")
    with opened(browser, f"{path.as_uri()}#/sample/Task0/0/static/0") as page:
        page.wait_for_selector("#turn-0")
        assert page.get_by_text("1 of these kernels were refused by a guard").is_visible()
        rows = page.locator("#turn-0 table", has_text="rules broken").locator("tbody tr").all_inner_texts()
        assert rows == ["1\tjudge\tguard rejected\trefused\t\t–\t900\t–", "2\tjudge\tok\t\t\t4.00\t900\t–"]
        assert nameless(page) == []


@pytest.mark.parametrize("folder", [False, True], ids=["one file", "folder"])
def test_a_sample_by_its_link(browser: Browser, stored: StoredRun, tmp_path: Path, folder: bool) -> None:
    path, *_ = write_page(stored, tmp_path / "report.html", **({"most_bytes": 10} if folder else {}))
    with opened(browser, f"{path.as_uri()}#/sample/Task1/0/static/0", width=400) as page:
        page.wait_for_selector("#turn-1")
        page.locator("summary", has_text="Prompt").last.click()
        assert page.get_by_text("Repair it.").is_visible()
        below = page.locator(".line:nth-child(5) + .note")
        assert "no function Copy" in below.inner_text()  # below its line
        assert page.get_by_role("img", name="Timeline of 1 pipes").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 400  # nothing sticks out of a telephone
        assert nameless(page) == []
        picture(page, "sample-narrow")
    with opened(browser, f"{path.as_uri()}#/sample/Task1/0/static/1") as page:
        page.locator("summary", has_text="Answer").click()
        assert page.get_by_text("<img src=x onerror=alert(1)>").is_visible()
        assert page.locator("img").count() == 0


def test_keys_search_and_menus(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#samples") as page:
        page.wait_for_selector("#sample h1")
        assert page.inner_text("#matches") == "9 samples"
        page.keyboard.press("j")
        page.locator("#sample h1", has_text="Task0 / 0 / 1").wait_for()
        page.keyboard.press("k")
        page.locator("#sample h1", has_text="Task0 / 0 / 0").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("task2 copy")
        assert page.inner_text("#matches") == "1 of 9 samples"
        page.get_by_label("Search").fill("")
        page.get_by_label("Outcome", exact=True).select_option("@none")
        assert page.inner_text("#matches") == "3 of 9 samples"
        page.get_by_label("Outcome", exact=True).focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Level"
        assert nameless(page) == []


def test_a_sample_that_comes_late_does_not_call_back(browser: Browser, address: str) -> None:
    """Who presses j and then / types into the search, however long the sample takes."""
    with opened(browser, f"{address}#/sample/Task0/0/static/0") as page:
        page.wait_for_selector("#sample h1")
        page.evaluate(
            "() => { const load = store.sample.bind(store);"
            " store.sample = async (row) => { await new Promise((go) => {"
            " window.go = go; document.body.dataset.held = 'yes'; }); return load(row); }; }"
        )
        page.keyboard.press("j")
        page.wait_for_selector("body[data-held=yes]")
        page.keyboard.press("/")
        page.keyboard.type("task2")
        page.evaluate("window.go()")
        page.locator("#sample h1", has_text="Task0 / 0 / 1").wait_for()
        page.keyboard.type(" copy")
        assert page.get_by_label("Search").input_value() == "task2 copy"
        assert page.url.endswith("#samples")


def test_a_source_is_opened_at_its_diagnostic(browser: Browser, tmp_path: Path) -> None:
    """A long kernel is scrolled to what is wrong; a bar of the timeline leads to its line."""
    run = tmp_path / "run"
    source = "\n" * 300 + "Copy(x, 1);\n" + "\n" * 300
    a_run(run, tasks=1, source=source, line=301)
    (path,) = write_page(read_run(run), tmp_path / "report.html")
    with opened(browser, f"{path.as_uri()}#/sample/Task0/0/static/1") as page:
        page.wait_for_selector("#sample h1")
        inside = (
            "(selector) => { const box = document.querySelector('.code').getBoundingClientRect();"
            " const line = document.querySelector(selector).getBoundingClientRect();"
            " return line.top >= box.top && line.bottom <= box.bottom; }"
        )
        assert page.evaluate(inside, ".line.hit")
        assert not page.evaluate(inside, ".line")
        assert page.get_by_role("button", name="Copy kernel.cpp").count() == 1
    with opened(browser, f"{path.as_uri()}#/sample/Task0/0/static/0") as page:
        timeline = page.get_by_role("img", name="Timeline of 1 pipes")
        timeline.scroll_into_view_if_needed()
        box = timeline.bounding_box()
        assert box is not None
        timeline.hover(position={"x": box["width"] / 2, "y": 30})
        timeline.click(position={"x": box["width"] / 2, "y": 30})
        page.wait_for_selector("#turn-1 .line.hit")
        assert page.get_attribute("#turn-1 .line.hit", "id") == "t1-kernel.cpp-301"


def test_dark_light_and_print(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#/sample/Task0/0/static/0", theme="dark") as page:
        page.wait_for_selector("#sample h1")
        dark = page.evaluate(_BACKGROUND)
        picture(page, "sample-dark")
        page.get_by_role("button", name="Switch between light and dark").click()
        light = page.evaluate(_BACKGROUND)
        assert max(dark) < 40
        assert min(light) > 240
        page.get_by_role("button", name="Switch between light and dark").click()
        page.emulate_media(media="print")
        assert min(page.evaluate(_BACKGROUND)) == 255  # paper is white in a dark room, too
        assert page.locator("#sample h1").is_visible()
        assert not page.locator("#view-overview").is_visible()
        picture(page, "sample-print")


_BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"


def test_comparisons_and_leaderboards(browser: Browser, tmp_path: Path) -> None:
    table = Table(
        "B against A",
        (Column("rate"), Column("B − A", numeric=True)),
        (("correct@1", "+0.10 [-0.05, +0.25]"),),
        "A note.",
    )
    path = tmp_path / "comparison.html"
    path.write_text(tables_page("Comparison", [table]).replace("<body>", '<body data-ready="yes">'))
    with opened(browser, path.as_uri(), theme="dark") as page:
        assert page.get_by_role("region", name="B against A").is_visible()
        assert page.get_by_role("columnheader").count() == 2
        zero, bar, mark = (page.locator(f".whisker {part}").bounding_box() for part in "uib")
        assert zero is not None
        assert bar is not None
        assert mark is not None
        assert bar["x"] < zero["x"] < mark["x"] < bar["x"] + bar["width"]  # the interval holds 0 and the value
        assert bar["width"] == pytest.approx(0.6 * page.locator(".whisker").bounding_box()["width"], abs=1)  # type: ignore[index]


def test_speeds_of_several_runs(browser: Browser, record: Callable[..., RunRecord], tmp_path: Path) -> None:
    """A threshold moved by key, click and link ranks the rows anew; every problem says who reached what."""
    slow = record("slow", {f"T{i}/0": "o" if i < 8 else "w" for i in range(10)}, model="slow and often right")
    untimed = (replace(attempt, speedups={}) if attempt.problem.task == "T7" else attempt for attempt in slow.attempts)
    slow = replace(slow, attempts=tuple(untimed))
    fast = record("fast", {f"T{i}/0": "f" if i < 4 else "i" if i == 9 else "c" for i in range(10)}, model="fast")
    path = tmp_path / "leaderboard.html"
    path.write_text(tables_page("Leaderboard", board_parts(leaderboards([slow, fast]))), encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        rows = page.get_by_role("region", name="Rates at the threshold").locator("tbody tr")
        names = rows.locator("td:nth-child(2)")
        slider, said = page.get_by_role("slider"), page.locator("output")
        assert said.inner_text() == "p = 0.50 of the roofline"
        assert names.all_inner_texts() == ["fast", "slow and often right"]
        assert rows.first.locator("td:nth-child(3)").inner_text().startswith("44 % [")  # 4 of 9 that are counted
        slider.focus()
        page.keyboard.press("Home")
        assert said.inner_text() == "p = 0.00 of the roofline"
        assert names.all_inner_texts() == ["slow and often right", "fast"]
        assert rows.first.locator("td:nth-child(3)").inner_text().startswith("80 % [")
        page.locator("figure svg").click(position={"x": 950, "y": 100})
        assert slider.get_attribute("aria-valuetext") == said.inner_text().removeprefix("p = ")
        assert float(said.inner_text().split()[2]) == pytest.approx(0.9, abs=0.1)
        page.get_by_text("Every problem (10)").click()
        problems = page.get_by_role("region", name="Problems")
        problems.locator("tbody tr").first.wait_for()
        kinds = {kind: problems.locator(f"td.k-{kind}").count() for kind in ("fast", "slow", "right", "wrong", "none")}
        assert kinds == {"fast": 4, "slow": 7, "right": 1, "wrong": 7, "none": 1}
        assert page.get_by_text("1 of 8 problems that somebody solved have no time beside the roofline").is_visible()
        slider.fill("0")
        assert (problems.locator("td.k-fast").count(), problems.locator("td.k-slow").count()) == (11, 0)
        page.get_by_label("Search problems").fill("t9")
        assert problems.locator("tbody tr").all_inner_texts() == ["T9/0\t✗\t○ not counted"]
        page.get_by_label("Search problems").fill("")
        page.get_by_label("Order of problems").select_option("hard")
        assert problems.locator("tbody th").first.inner_text() == "T8/0"
        lines = page.locator('figure svg g[fill="none"] path')
        before = lines.count()
        page.get_by_label("Draw fast").uncheck()
        assert lines.count() == before - 1
        assert nameless(page) == []
        picture(page, "speeds")
        assert page.url == f"{path.as_uri()}#1/roofline/{float(said.inner_text().split()[2]):g}"
    with opened(browser, f"{path.as_uri()}#1/roofline/0.25", width=400, theme="dark") as page:
        assert page.locator("output").inner_text() == "p = 0.25 of the roofline"
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        picture(page, "speeds-narrow")


def test_ten_thousand_samples_are_few_elements(browser: Browser, stored: StoredRun, tmp_path: Path) -> None:
    """What opening a page costs grows with its elements: marks of charts are shapes, tables are made when opened."""
    index: dict[str, Any] = dict(pack(stored).index)
    index["rows"] = [row | {"task": f"{row['task']}-{i}"} for i in range(1112) for row in index["rows"]]
    index["places"] *= 1112
    path = tmp_path / "report.html"
    path.write_text(page_of(index, ()), encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        assert page.text_content("#matches") == "10008 samples"
        assert page.locator("svg[role=img]").count() >= 4
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        assert metrics["Nodes"] < 6000
