"""Access to parts of a report."""


def plain(text):
    """Text with ordinary spaces and minus signs."""
    return text.replace("\u202f", " ").replace("\u00a0", " ").replace("\u2212", "-")


def part(report, name):
    """Section of a name, None where there is none."""
    return next((section for section in report["sections"] if section["id"] == name), None)


def sentences_of(section):
    """All paragraphs and items of a section, one a line."""
    lines = [
        line
        for block in section["blocks"]
        for line in ([block["text"]] if block["type"] == "paragraph" else block.get("items", []))
    ]
    return plain("\n".join(lines))


def blocks(section, kind):
    """Blocks of one type."""
    return [block for block in section["blocks"] if block["type"] == kind]


def cells(table):
    """Cells of each line of a table."""
    return [[plain(cell) for cell in line["cells"]] for group in table["groups"] for line in group["rows"]]


def sayings(report):
    """All that a report says outside of tables."""
    all_blocks = (block for section in report["sections"] for block in section["blocks"])
    return [
        text
        for block in all_blocks
        for text in (block.get("text"), block.get("caption"), *block.get("items", []))
        if text
    ]


def table_lines(report):
    """Each line of each table, after its table."""
    tables = (block for section in report["sections"] for block in blocks(section, "table"))
    return [(table, line) for table in tables for group in table["groups"] for line in group["rows"]]
