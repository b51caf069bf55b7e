"""Records of kinds and languages that no limit was chosen on: how many a crawl loses.

    python -m benchmarks.other_records

Connections of trains in German, patents in Chinese, recipes in English and variants of a product in
German that differ in one attribute; all records of a kind have one title and one prose. The fields
are a table, links, or one line, and the prose is once, five and fifteen times as long. The records
of the last column have names of their own in title and ``h1``. Prints the wrong drops, which are
all drops, in the order of the crawl, and which records repeat which.
"""

from random import Random

from scrapy_simhash.extraction.extractor import extract
from scrapy_simhash.fingerprint.recipe import named_recipe
from scrapy_simhash.fingerprint.simhash import hamming_distance
from scrapy_simhash.rule.facts import facts_of
from scrapy_simhash.rule.rule import Rule
from scrapy_simhash.rule.ruling import Page

RECORDS = 60
CITIES = "Ulm Jena Köln Trier Fulda Celle Hagen Emden Gotha Worms".split()
FIRMS = "华星光电 北方材料 东海机械 长江化工 南岭电子 西湖仪器".split()
GRAINS = "rice barley oats lentils millet rye beans quinoa".split()
COLOURS = "rot blau grün gelb weiß schwarz braun grau".split()
PROSE = {
    "train": "Alle Angaben ohne Gewähr. Bitte beachten Sie, dass sich Fahrpläne ändern können und "
    "dass an Feiertagen andere Zeiten gelten. Fahrkarten gibt es am Automaten. ",
    "patent": "本页信息来源于公开的专利公报，仅供参考，不构成任何法律意见。"
    "如需了解专利的最新法律状态，请以官方登记簿为准。",
    "recipe": "Wash everything well, and cook it slowly with some salt until it is soft. Serve it "
    "warm, with bread and a salad, and keep what is left in a cool place for two days at most. ",
    "variant": "Der Becher ist aus Steinzeug und wird von Hand glasiert. Er darf in die Maschine "
    "und in die Mikrowelle, und er wird in einem Karton aus Altpapier geliefert. ",
}
TITLES = {
    "train": "Verbindung | Bahnauskunft",
    "patent": "专利详情 | 专利之窗",
    "recipe": "Recipe of the day | Pot and Pan",
    "variant": "Becher Nordsee | Töpferei",
}


def fields(kind: str, random: Random, number: int) -> dict[str, str]:
    """Return the fields of a record; the number makes each of them another one."""
    if kind == "train":
        start, end = random.sample(CITIES, 2)
        at = f"{5 + number // 6 % 18:02}:{number % 6}7"
        return {"Von": start, "Nach": end, "Abfahrt": at, "Gleis": str(random.randint(1, 9))}
    if kind == "patent":
        holder = random.choice(FIRMS)
        return {"申请号": f"CN{202310000000 + 37 * number}", "申请人": holder, "状态": "有效"}
    if kind == "recipe":
        grain = random.choice(GRAINS)
        return {"Grain": grain, "Grams": str(100 + 5 * number), "Serves": "4", "Oven": "180 °C"}
    colour = COLOURS[number % len(COLOURS)]
    return {
        "Farbe": colour,
        "Inhalt": f"{200 + 50 * (number // len(COLOURS))} ml",
        "Preis": "19,90 €",
    }


LAYOUTS = {
    "table": "<table>{}</table>|<tr><th>{}</th><td>{}</td></tr>",
    "links": "<dl>{}</dl>|<dt>{0}</dt><dd><a href='/{1}'>{1}</a></dd>",
    "line": "<p>{}</p>|{}: {} · ",
    "named": "<table>{}</table>|<tr><th>{}</th><td>{}</td></tr>",
}


def html_of(kind: str, record: dict[str, str], length: int, layout: str) -> str:
    around, field = LAYOUTS[layout].split("|")
    rows = "".join(field.format(*pair) for pair in record.items())
    title, prose = TITLES[kind], PROSE[kind] * length
    heading = title.partition(" | ")[0]
    if layout == "named":
        name = " ".join([heading, *list(record.values())[:2]])
        title, heading = title.replace(heading, name), name
    page = f"<title>{title}</title><h1>{heading}</h1>"
    return f"{page}{around.format(rows)}<p>{prose}</p>"


def wrong_drops(kind: str, length: int, layout: str) -> list[str]:
    """Return which records of a crawl repeat which."""
    recipe = named_recipe("default")
    rule = Rule(recipe.distance)
    random = Random(7)
    kept: list[tuple[int, Page, str]] = []
    lost = []
    for number in range(RECORDS):
        record = fields(kind, random, number)
        extraction = extract(html_of(kind, record, length, layout))
        value = recipe.fingerprint(*extraction.to_fingerprint).value
        page = Page(f"http://{kind}.test/{number}", facts_of(extraction, recipe))
        told = " ".join(record.values())
        judged = (
            (rule(page, other, hamming_distance(value, known)).is_copy, name)
            for known, other, name in kept
        )
        same = next((name for is_copy, name in judged if is_copy), None)
        if same is None:
            kept.append((value, page, told))
        else:
            lost.append(f"{kind}, {layout}, {length}: {told} repeats {same}")
    return lost


def main() -> None:
    print(f"Wrong drops of {RECORDS} records\n\n| records | prose | {' | '.join(LAYOUTS)} |")
    print("| --- | --- |" + " --- |" * len(LAYOUTS))
    lost = []
    for kind in TITLES:
        for length in (1, 5, 15):
            columns = [wrong_drops(kind, length, layout) for layout in LAYOUTS]
            counts = " | ".join(str(len(each)) for each in columns)
            print(f"| {kind} | {length} | {counts} |", flush=True)
            lost += [line for each in columns for line in each]
    print("\n".join(lost))


if __name__ == "__main__":
    main()
