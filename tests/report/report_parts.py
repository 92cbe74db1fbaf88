"""Taking a report apart."""


def plain(text):
    """Text with ordinary spaces and minus signs."""
    return text.replace("\u202f", " ").replace("\u00a0", " ").replace("\u2212", "-")


def part(report, name):
    """Section of a name, None where there is none."""
    return next((section for section in report["sections"] if section["id"] == name), None)


def said(section):
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
