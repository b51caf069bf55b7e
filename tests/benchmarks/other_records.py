"""Records of kinds and languages that no limit was chosen on: how many a crawl loses.

    python -m tests.benchmarks.other_records

Connections of trains in German, patents in Chinese, recipes in English and variants of a product in
German that differ in one attribute; all records of a kind have one title and one prose. Each is on
a page of short fields, and on one in which the prose is five times as long. Prints the wrong drops,
which are all drops, in the order of the crawl, and which records repeat which.
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


def html_of(kind: str, record: dict[str, str], length: int) -> str:
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in record.items())
    title, prose = TITLES[kind], PROSE[kind] * length
    heading = title.partition(" | ")[0]
    return f"<title>{title}</title><h1>{heading}</h1><table>{rows}</table><p>{prose}</p>"


def main() -> None:
    recipe = named_recipe("default")
    rule = Rule(recipe.distance)
    print("| records | prose | near by distance | wrong drops |\n| --- | --- | --- | --- |")
    lost = []
    for kind in TITLES:
        for length in (1, 5):
            random = Random(7)
            kept: list[tuple[int, Page, str]] = []
            near = wrong = 0
            for number in range(RECORDS):
                record = fields(kind, random, number)
                extraction = extract(html_of(kind, record, length))
                value = recipe.fingerprint(*extraction.to_fingerprint).value
                page = Page(f"http://{kind}.test/{number}", facts_of(extraction, recipe))
                told = " ".join(record.values())
                apart = [hamming_distance(value, other) for other, _, _ in kept]
                near += any(distance <= recipe.distance for distance in apart)
                same = [
                    name
                    for (_, other, name), distance in zip(kept, apart, strict=True)
                    if rule(page, other, distance).is_copy
                ]
                if same:
                    wrong += 1
                    lost.append(f"{kind}: {told} repeats {same[0]}")
                else:
                    kept.append((value, page, told))
            print(f"| {RECORDS} {kind} | {length} | {near} | {wrong} |", flush=True)
    print("\n".join(lost))


if __name__ == "__main__":
    main()
