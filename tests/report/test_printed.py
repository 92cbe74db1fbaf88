"""The printed report: PDF and HTML have the same text, whatever the names are."""

import functools
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import pandas as pd
import pytest
import typst
from pypdf import PdfReader
from report_files import print_study
from report_parts import sayings, table_lines
from synthetic_study import make_runs, make_study

from analysis.runs.facts import Facts
from workflows.report.html import write_html
from workflows.report.pdf import write_pdf

# Matplotlib tells that its font lacks letters of the attack; what reads the SVG has others.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font")

ATTACK = (
    '"quoted" <script>alert(1)</script> & #panic("x") $1/0$ _under_ *star* @ref \\n `code` {{ 7*7 }} ]]> </style> '
    "<img src=x onerror=alert(1)> %s ${HOME} // /* é 日本\nsecond line\u202e"
)
ENDLESS = "AnEndlessNameWithoutAnySpace" * 6


def squeezed(text):
    """Text without white space and characters without width, as PDF readers differ in these."""
    return re.sub(r"[\s\u200b\u00ad]+", "", text)


@dataclass(frozen=True)
class PrintedPage:
    """A page of a PDF.

    Attributes
    ----------
    text : str
        Squeezed.
    begins : list of float
        Horizontal place, in points, where each piece of text begins.
    width : float
        Of the paper, in points.
    """

    text: str
    begins: list[float]
    width: float


@functools.cache
def pdf_pages(file):
    """Pages of a PDF, read once for all tests."""
    return [printed_page(page) for page in PdfReader(file).pages]


def printed_page(page):
    begins = []

    def visit(text, transformation, matrix, *_):
        if text.strip():
            begins.append(matrix[4] * transformation[0] + transformation[4])

    text = page.extract_text(visitor_text=visit)
    return PrintedPage(squeezed(text), begins, float(page.mediabox.width))


def pdf_text(folder):
    return "".join(page.text for page in pdf_pages(folder / "report.pdf"))


class Page(HTMLParser):
    """What a browser reads: texts, tags and attributes; raw scripts and styles apart."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "hr"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.raw, self.unbalanced = [], [], [], [], []
        self.feed(text)
        self.close()

    @classmethod
    def of(cls, folder):
        return cls((folder / "report.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        (self.raw if self.open[-1:] in (["script"], ["style"]) else self.words).append(data)

    @property
    def text(self):
        return squeezed(" ".join(self.words))

    def count(self, tag, **attributes):
        return sum(
            name == tag and all(attributes_of_tag.get(key) == value for key, value in attributes.items())
            for name, attributes_of_tag in self.tags
        )


@pytest.fixture
def long(tmp_path):
    """A study of nine cases with long names and a long question, printed."""
    cases = [f"case_{number}_{'with_a_long_name_' * 3}" for number in range(9)]
    runs = pd.concat([make_runs(2, cases=("elbow",)).assign(case=case) for case in cases])
    return print_study(tmp_path / "long", *make_study(runs, question="Why, and for how long? " * 20))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """A study whose every free text attacks, printed."""
    runs = make_runs(2)
    runs.loc[runs.index[5], ["valid", "reason"]] = [False, ATTACK]
    complete, tables, facts = make_study(runs, title=ATTACK, question=ATTACK, file=ATTACK)
    about = facts.as_json()
    about["cases"]["elbow"] |= dict.fromkeys(("title", "description", "stands_for", "size"), ATTACK)
    about["cases"]["elbow"]["answer"] |= {"quantity": ATTACK, "unit": ATTACK}
    about["cases"]["cavity"]["title"] = ENDLESS
    about["interconnects"]["gigabit"] |= {"title": ATTACK, "description": ATTACK}
    about["interconnects"]["loopback"]["title"] = ENDLESS
    about["left_out"] = [{"what": ATTACK, "reason": ATTACK}]
    about["machine"] |= {"cpu": ATTACK, "host": ATTACK, ATTACK: ATTACK}
    return print_study(tmp_path_factory.mktemp("attacked"), complete, tables, Facts.of(about))


class TestPdf:
    def test_it_has_every_sentence_of_the_report(self, printed):
        text, report = pdf_text(printed), json.loads((printed / "report.json").read_text())
        first, *others = report["sections"]
        for section in (first, *others):
            section["blocks"] = [block for block in section["blocks"] if block["printed"]]
        sentences = [section["heading"] for section in others if section["blocks"]] + sayings(report)
        assert len(sentences) > 30
        assert [sentence for sentence in sentences if squeezed(sentence)[:40] not in text] == []

    def test_every_figure_and_table_is_numbered_once(self, printed):
        text = pdf_text(printed)
        assert [text.count(f"Figure{number}.") for number in range(1, 5)] == [1, 1, 1, 0]
        assert text.count("Table1.") == 1

    def test_numbers_of_the_tables_are_printed(self, printed):
        text = pdf_text(printed)
        page = json.loads((printed / "report.json").read_text())["sections"][2]
        groups = [group for block in page["blocks"] for group in block.get("groups", [])]
        cells = [cell for group in groups for line in group["rows"] for cell in line["cells"]]
        assert len(cells) > 20
        for cell in cells:
            assert squeezed(cell) in text

    def test_every_case_has_one_page(self, printed):
        pages = [page.text for page in pdf_pages(printed / "report.pdf")]
        assert "2Ductelbow" in pages[2] and "3Lid-drivencavity" in pages[3]

    @pytest.mark.parametrize("folder_of", ["printed", pytest.param("long", marks=pytest.mark.slow)])
    def test_the_answer_is_page_one_and_nothing_else_is(self, folder_of, request):
        folder = request.getfixturevalue(folder_of)
        first, second = json.loads((folder / "report.json").read_text())["sections"][:2]
        pages = [page.text for page in pdf_pages(folder / "report.pdf")]
        assert squeezed(first["blocks"][-1]["text"])[-60:] in pages[0]
        assert f"1{squeezed(second['heading'])}"[:20] in pages[1]

    def test_the_appendix_has_contents_of_its_own(self, printed):
        pages = [page.text for page in pdf_pages(printed / "report.pdf")]
        (contents,) = (page for page in pages if "Appendix" in page)
        assert "Orderofexecutionreport.html" in contents and "Machineandversions" in contents
        made = json.loads((printed / "report.json").read_text())["sections"]
        titles = [
            part["heading"] for part in made if any(block.get("printed", True) for block in part["blocks"])
        ]
        number = titles.index(
            "Improvement over the baseline"
        )  # its figures are not printed; page one has no number
        assert re.search(
            rf"Filereport\.htmlhasmoreofthesesections:(\d+,)*{number},.*Allcasessidebyside\.", contents
        )

    @pytest.mark.slow
    def test_nothing_invisible_is_in_the_names(self, attacked):
        text = "".join(page.extract_text() for page in PdfReader(attacked / "report.pdf").pages)
        assert not {"\u200b", "\u00ad", "\ufeff"} & set(text)

    def test_all_fonts_are_inside(self, printed):
        names = set()
        for page in PdfReader(printed / "report.pdf").pages:
            for font in page["/Resources"].get("/Font", {}).values():
                (inner,) = font.get_object()["/DescendantFonts"]
                descriptor = inner.get_object()["/FontDescriptor"].get_object()
                assert {"/FontFile2", "/FontFile3"} & descriptor.keys()
                names.add(descriptor["/FontName"].split("+")[1].split("-")[0])
        assert names == {"LibertinusSerif", "DejaVuSans"}

    def test_the_document_has_the_title(self, printed):
        assert PdfReader(printed / "report.pdf").metadata.title == "A synthetic study"

    @pytest.mark.slow
    def test_nothing_runs_over_the_page(self, printed, attacked):
        for folder in (printed, attacked):
            pages = pdf_pages(folder / "report.pdf")
            assert len(pages) > 4
            for page in pages:
                assert all(0 <= begin <= page.width - 40 for begin in page.begins)

    def test_layout_converges(self, printed, attacked):
        for folder in (printed, attacked):
            inputs = {"report": str(folder / "report.json"), "figures": str(folder / "figures")}
            template = write_pdf.__globals__["REPORT"]
            _, warnings = typst.compile_with_warnings(template, root="/", sys_inputs=inputs)
            assert not [warning for warning in warnings if "converge" in str(warning)]

    def test_attacks_are_printed_as_they_are(self, attacked):
        text = pdf_text(attacked)
        for part in (
            '#panic("x")',
            "$1/0$",
            "*star*",
            "_under_",
            "<script>alert(1)</script>",
            "{{7*7}}",
            "//",
        ):
            assert part in text
        assert ENDLESS in text

    def test_a_missing_figure_is_an_error_and_no_file(self, printed, tmp_path):
        with pytest.raises(typst.TypstError, match="not found"):
            write_pdf(printed / "report.json", tmp_path, tmp_path / "report.pdf")
        assert not (tmp_path / "report.pdf").exists()


class TestHtml:
    @pytest.fixture(params=["printed", "attacked"])
    def page(self, request):
        return Page.of(request.getfixturevalue(request.param))

    def test_every_element_is_closed(self, page):
        assert page.unbalanced == [] and page.open == []

    def test_it_needs_nothing_else(self, page):
        keys = ("src", "href", "xlink:href", "action", "data", "poster")
        used = [(tag, key, given[key]) for tag, given in page.tags for key in keys if key in given]
        assert used and page.raw
        for tag, key, value in used:
            assert value.startswith(("#", "data:")), (tag, key, value)
        for raw in page.raw:
            assert "http" not in raw.replace("http://www.w3.org", "") and "@import" not in raw

    def test_the_only_script_is_its_own(self, page):
        assert page.count("script") == 1
        assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
        assert not page.count("img", src="x")

    def test_attacks_are_texts(self, attacked):
        page = Page.of(attacked)
        assert squeezed("<script>alert(1)</script> & #panic") in page.text
        assert "{{7*7}}" in page.text and "49" not in re.findall(r"\{\{7\*7\}\}|code`(\S+?)\]\]", page.text)

    def test_it_has_every_sentence_of_the_report(self, printed):
        page = Page.of(printed)
        report = json.loads((printed / "report.json").read_text())
        assert {page.count("section", id=section["id"]) for section in report["sections"]} == {1}
        sentences = sayings(report) + ["".join(line["cells"]) for _, line in table_lines(report)]
        assert len(sentences) > 100
        assert [sentence for sentence in sentences if squeezed(sentence) not in page.text] == []

    def test_figures_are_inside_with_distinct_identifiers(self, page):
        identifiers = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(identifiers) == len(set(identifiers))
        assert sum(name.endswith("-drawing") for name in identifiers) == 11

    def test_figures_take_the_size_of_the_page(self, printed):
        drawn = [
            attributes for tag, attributes in Page.of(printed).tags if tag == "svg" and "id" in attributes
        ]
        assert len(drawn) == 11
        for attributes in drawn:
            assert "viewbox" in attributes and not {"width", "height"} & attributes.keys()

    def test_everything_can_be_filtered(self, printed):
        page = Page.of(printed)
        expected = {"case": {"elbow", "cavity"}, "interconnect": {"gigabit", "loopback", "shared_memory"}}
        for name, values in expected.items():
            boxes = {a["value"] for tag, a in page.tags if tag == "input" and a["name"] == name}
            used = {a[f"data-{name}"] for _, a in page.tags if a.get(f"data-{name}")}
            assert boxes == used == values

    def test_nothing_in_it_is_nan(self, printed):
        assert not re.search(r"\bnan\b", Page.of(printed).text, re.IGNORECASE)

    def test_a_missing_figure_is_an_error_and_no_file(self, printed, tmp_path):
        with pytest.raises(FileNotFoundError):
            write_html(printed / "report.json", tmp_path, tmp_path / "report.html")
        assert not (tmp_path / "report.html").exists()
