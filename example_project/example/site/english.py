"""Subjects of the English-language publishers: people, places and sentences, all made up."""

from __future__ import annotations

from example.site.grammar import Rules, words

RULES: Rules = {
    "given": words("""Ada Bertil Clio Dov Edda Farah Gideon Hester Ilse Jonas Kamala Lorcan
        Mirela Nuno Odile Pascoe Quill Rosamund Stellan Thandi Ursa Viggo Wilhelmina Yael
        Zoltan"""),
    "family": words("""Abernock Brackwater Corrindale Dunmarsh Elverton Fenwhistle Garrowby
        Hollinshade Inkpen Jessamy Kestleford Lanyard Mossop Netherwick Oakenshaw Pellworth
        Quarrendon Ravelston Sallowfield Tarnbrook Underhay Vennimore Wexcombe Yarrowdale"""),
    "hero": ["{given} {family}"],
    "rival": ["{given} {family}"],
    "place": words("""Alderquay Brimhollow Cinderford-on-Lea Dapplemere Eastwithy Fallowgate
        Gannetsound Hartsbridge Ivelmouth Juniperhead Kittiwake-Bay Larkrise Mallowby Norhaven
        Osierton Puddlecombe Quayle Rookminster Saltings Thistleham Umberley Velvetmoor
        Whinstead"""),
    "body": words("""harbour board | parish assembly | county museum | choral society | river
        trust | school committee | fishing cooperative | library guild | tramway company |
        orchard union | lighthouse commission | market office | botanical institute | ferry
        authority | historical circle | fire brigade | weather bureau | potters' league"""),
    "thing": words("""tide mill | swing bridge | clock tower | glasshouse | bandstand | slipway |
        printing works | ropewalk | signal station | covered market | salt barn | observatory
        dome | cable ferry | reading room | drainage pump | bell foundry | stone quay | walled
        garden | night tram | apple store"""),
    "part": words("""oak gates | iron hinges | copper roof | brick vault | pulley | north stairway
        | painted ceiling | flood wall | counterweight | glazing | boiler | timber floor |
        gear wheel | lamp room | retaining wall | weather vane | cellar | ventilation
        shaft"""),
    "creature": words("""sea otters | barn swallows | river eels | honeybees | grey herons |
        hedgehogs | dune beetles | water voles | curlews | brown trout | peregrine falcons |
        bats"""),
    "quality": words("""unusual cautious generous stubborn overdue sensible awkward bold modest
        costly lively patient thorough peculiar welcome puzzling"""),
    "trade": words("""stonemason | schoolteacher | retired pilot | botanist | net maker | surveyor
        | organist | baker | hydrologist | bookbinder | ferry captain | archivist | plumber |
        beekeeper | clockmaker | geologist | tram driver | glass blower"""),
    "day": words("""Monday Tuesday Wednesday Thursday Friday Saturday Sunday"""),
    "season": words("""spring summer autumn winter"""),
    "month": words("""January February March April May June July August September October
        November December"""),
    "number": [str(number) for number in range(13, 990, 7)],
    "year": [str(year) for year in range(1871, 2011, 3)],
    "doing": words("""repairing repainting surveying reopening draining rebuilding insuring
        photographing widening rewiring dismantling cataloguing"""),
    "reason": words("""rising insurance costs | a shortage of seasoned oak | three wet winters in
        a row | complaints from the upper town | a letter found in the county archive | an
        error in the old tide tables | the closure of the gravel pit | a gift from an
        anonymous donor | new rules on lead paint | a crack seen by a swimmer | the return of
        the night boats | a survey by visiting students"""),
    "event": words("""regatta | lantern walk | harvest supper | kite festival | charity auction |
        midsummer concert | cheese fair | rowing derby | winter market | poetry evening | seed
        exchange | model boat race | bell-ringing contest | open studio weekend"""),
    "food": words("""smoked mackerel | plum cake | barley soup | pickled samphire | rye bread |
        elderflower cordial | potato dumplings | quince jelly | hot chestnuts | leek tart"""),
    "headline": [
        "{place} weighs {doing} its {thing}",
        "The {thing} of {place} faces a {quality} {season}",
        "{body} of {place} splits over the {part}",
        "How {reason} changed {place}",
        "A {trade} from {place} takes on the {thing}",
        "{place} prepares for its {event}",
        "What the {creature} of {place} tell us",
        "After {year}: the {thing} at {place} returns",
    ],
    "sentence": [
        "The {body} of {place} decided on {day} that {doing} the {thing} could not wait for"
        " another {season}.",
        "{hero}, a {trade} who has known the {thing} since {year}, called the plan {quality} and"
        " asked for a second opinion on the {part}.",
        "According to a report of {number} pages, {reason} had been the main cause of the delay.",
        '"Nobody here expected the {part} to last this long," {hero} told a meeting in the reading'
        " room, to some laughter.",
        "Work on the {part} is to start in {month} and will take about {number} days, weather"
        " permitting.",
        "Records kept by the {body} show that the {thing} was built in {year}, when {place} had"
        " fewer than {number} inhabitants.",
        "{rival}, who speaks for the {body}, answered that {number} households depend on the"
        " {thing} and that none of them had been consulted.",
        "Volunteers counted {number} {creature} along the shore this {season}, more than in any"
        " year since {year}.",
        "The cost, put at {number} thousand crowns, would be shared between the {body} and the"
        " visitors who come for the {event}.",
        "Not everyone agrees: a petition against {doing} the {part} gathered {number} signatures"
        " within a week.",
        "Children of the upper school measured the {part} with string and chalk and came within"
        " {number} millimetres of the official figure.",
        "In {month} of that year a storm tore away the {part}, and for {number} nights the people"
        " of {place} crossed the water in rowing boats.",
        "{hero} keeps a drawer full of photographs from {year}, in which the {thing} stands"
        " between an apple orchard and a tannery.",
        'What makes the case {quality}, {rival} said, "is that the {part} never appeared on any'
        ' map we own".',
        "Engineers from {place} propose a {quality} compromise: leave the {part} alone and move"
        " the {event} to the {season}.",
        "During the {event} the stalls will sell {food} and {food}, with the proceeds going to the"
        " {body}.",
        "A {trade} and a {trade} walked the whole length of the embankment on {day} and noted"
        " {number} places where {creature} had dug into the clay.",
        "Since {reason}, fewer boats stop at {place}, and the waiting room beside the {thing} has"
        " become a place to mend nets.",
        "The archive has a bill from {year} for {number} barrels of tar, delivered to a {trade}"
        " named {family} who never paid for them.",
        "Anyone who wants to see the {part} before the scaffolding goes up may do so on {day},"
        " when {hero} will lead {number} visitors at a time.",
        "For the {creature} the building site may turn out to be a blessing, because the {part}"
        " can give shelter from gulls.",
        "{place} has tried this before: in {year} the {body} ordered a new {part} from a foundry"
        " that closed before the invoice arrived.",
        "A vote is expected before {month}, though {rival} warned that {reason} might push it"
        " into the following {season}.",
        "The old regulations allow {doing} only at low tide, which leaves the crew barely"
        " {number} minutes on a good {day}.",
        "Over {food} in the canteen, {hero} explained why a {quality} repair is often cheaper than"
        " a new {thing}.",
        "Two winters ago the {body} tried to sell the {thing} to a neighbour of {place}, who"
        " offered {number} crowns and a cow.",
        "Instruments on the roof recorded gusts of {number} kilometres an hour, and the {part}"
        " hummed so loudly that the {creature} fled.",
        "The {quality} part, in the words of {rival}, is to find a {trade} who still knows how"
        " the {part} had to be fitted in {year}.",
        "Tickets for the {event} sold out on {day}, and the ferry will run every {number} minutes"
        " until midnight.",
        "Letters to this newspaper ran {number} to {number} in favour, with the loudest"
        " objections coming from a {trade} in {place}.",
        "Behind the {thing} lies a meadow where {creature} gather each {month}; the {body} wants"
        " to fence it off.",
        "{hero} learned the work from a {trade} who had once rebuilt the {part} with nothing but"
        " driftwood and patience.",
        "If the money runs out, the {part} will be wrapped in sailcloth until the next {season},"
        " as happened in {year}.",
        "A hydrologist's model suggests that the channel by {place} silts up by {number}"
        " centimetres a year, twice what had been assumed.",
        "Musicians rehearsing for the {event} have meanwhile moved into the {thing}, whose echo"
        " they describe as {quality}.",
        "The insurance assessor left after {number} minutes, ate {food} at the station and has not"
        " been heard from since {day}.",
    ],
}

ABOUT = ["hero", "rival", "place", "body", "thing", "event", "creature"]
"""These words stay the same through one article."""

EDITED = ["quality", "day", "season", "month", "number", "food"]
"""A later revision of an article changes these words."""

ADS = [
    "Advertisement: Sallowfield umbrellas keep the upper town dry, now with free delivery.",
    "Sponsored: open a harbour savings account before Friday and receive a brass compass.",
    "Advertisement: the Velvetmoor spa has rooms left for two, breakfast and ferry included.",
    "Sponsored: learn to tie forty knots in one weekend, beginners welcome, ropes provided.",
]

PHRASES = {
    "byline": "By {author} | {date}",
    "counters": "Counted until {date}: {readers} people have read this story to its end, and"
    " they have left {comments} comments.",
    "credit": "This story first appeared in the {source}.",
    "permission": "Reprinted here by kind permission of the {source}.",
    "more": "Older stories",
    "contact": "Write to the desk at desk@{host}.",
    "moved": "This page has moved to {path}. Please update your bookmark.",
    "related": "Also in this paper",
    "rights": "Copyright 2031 {name}. All rights reserved.",
    "event_rules": "Doors open half an hour before the start. Bicycles may be left in the yard,"
    " dogs are welcome on a lead, and tickets that were bought online can be returned until noon"
    " of the day before.",
    "gone": "A story taken down",
    "live": "Live report",
}
