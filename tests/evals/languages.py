"""How well languages are told, passages found across them, numbers read, and opposites seen in each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations

from core.evidence.passages import EvidenceIndex
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.rules.words import match_tokens, read
from core.model.source import Source, SourceMetadata
from core.text.language import detect_language
from core.text.sentences import split_sentences
from tests.evals.datasets import READ_AT, data_path, sha256_of

PARALLEL, EXPERTQA = "questions/parallel.json", "expertqa/questions.jsonl"
SPOKEN = ("en", "de", "es")  # those of the parallel texts
NEAREST = 3
Case = tuple[EvidenceIndex, str, tuple[int, int]]

OURS = {
    "en": (
        "When was the Forth Bridge built?",
        "How many people live in Aberdeen?",
        "Why do onions make you cry?",
    ),
    "de": (
        "Wann wurde der Kölner Dom fertig?",
        "Wie viele Einwohner hat Leipzig?",
        "Warum weint man beim Zwiebelschneiden?",
    ),
    "fr": (
        "Quand le pont du Gard a-t-il été construit ?",
        "Combien d'habitants compte Lille ?",
        "Pourquoi les oignons font-ils pleurer ?",
    ),
    "es": (
        "¿Cuándo se construyó la Alhambra?",
        "¿Cuántos habitantes tiene Zaragoza?",
        "¿Por qué lloramos al cortar cebolla?",
    ),
    "it": (
        "Quando fu costruito Ponte Vecchio?",
        "Quanti abitanti ha Bologna?",
        "Perché le cipolle fanno piangere?",
    ),
    "pt": (
        "Quando foi construída a Torre de Belém?",
        "Quantos habitantes tem Coimbra?",
        "Porque choramos ao cortar cebola?",
    ),
    "nl": (
        "Wanneer werd de Afsluitdijk gebouwd?",
        "Hoeveel inwoners telt Utrecht?",
        "Waarom huil je van uien snijden?",
    ),
    "sv": (
        "När byggdes Öresundsbron?",
        "Hur många bor i Uppsala?",
        "Varför gråter man av lök?",
    ),
    "pl": (
        "Kiedy zbudowano zamek w Malborku?",
        "Ilu mieszkańców ma Gdynia?",
        "Dlaczego cebula wyciska łzy?",
    ),
    "tr": (
        "Galata Kulesi ne zaman yapıldı?",
        "Bursa'nın nüfusu kaç?",
        "Soğan doğrarken neden ağlarız?",
    ),
    "ru": (
        "Когда построили Эрмитаж?",
        "Сколько жителей в Казани?",
        "Почему от лука текут слёзы?",
    ),
    "uk": (
        "Коли збудували Софійський собор?",
        "Скільки мешканців у Львові?",
        "Чому ми плачемо від цибулі?",
    ),
    "ar": (
        "متى بني الجامع الأموي؟",
        "كم عدد سكان مدينة فاس؟",
        "لماذا يجعلنا البصل نبكي؟",
    ),
    "fa": (
        "تخت جمشید کی ساخته شد؟",
        "جمعیت شیراز چقدر است؟",
        "چرا پیاز اشک ما را در می‌آورد؟",
    ),
    "zh": (
        "长城是什么时候建成的？",
        "成都有多少人口？",
        "为什么切洋葱会流泪？",
    ),
    "ja": (
        "姫路城はいつ建てられましたか？",
        "札幌の人口はどのくらいですか？",
        "玉ねぎを切るとなぜ涙が出るのですか？",
    ),
}
OTHERS = {
    "ca": (
        "Quan es va construir l'aqüeducte de Tarragona?",
        "Quants habitants té la comarca del Montsià?",
        "Per què plora la gent quan talla cebes?",
    ),
    "ro": (
        "Când a fost construit podul peste Dunăre?",
        "Câți locuitori are orașul Brașov?",
        "De ce plâng oamenii când taie ceapa?",
    ),
    "da": (
        "Hvornår blev broen over Storebælt bygget?",
        "Hvor mange indbyggere har Aarhus?",
        "Hvorfor græder man, når man skærer løg?",
    ),
    "no": (
        "Når ble jernbanen mellom Oslo og Bergen bygget?",
        "Hvor mange mennesker bor det i Tromsø?",
        "Hvorfor gråter vi når vi skjærer løk?",
    ),
    "fi": (
        "Milloin Suomen ensimmäinen rautatie rakennettiin?",
        "Kuinka monta asukasta Tampereella on?",
        "Miksi sipulin leikkaaminen itkettää?",
    ),
    "hu": (
        "Mikor épült a budapesti Lánchíd?",
        "Hány lakosa van Szegednek?",
        "Miért könnyezünk hagymavágás közben?",
    ),
    "cs": (
        "Kdy byl postaven Karlův most?",
        "Kolik obyvatel má město Olomouc?",
        "Proč při krájení cibule slzíme?",
    ),
    "sk": (
        "Kedy bol postavený Bratislavský hrad?",
        "Koľko obyvateľov má mesto Žilina?",
        "Prečo pri krájaní cibule slzíme?",
    ),
    "hr": (
        "Kada je sagrađena katedrala u Zagrebu?",
        "Koliko stanovnika ima grad Split?",
        "Zašto nam suze oči dok režemo luk?",
    ),
    "bg": (
        "Кога е построен Рилският манастир?",
        "Колко жители има град Пловдив?",
        "Защо плачем, когато режем лук?",
    ),
    "lt": (
        "Kada buvo pastatyta Gedimino pilis?",
        "Kiek gyventojų turi Kauno miestas?",
        "Kodėl pjaustant svogūną ašaroja akys?",
    ),
    "lv": (
        "Kad tika uzcelts Rīgas Doms?",
        "Cik iedzīvotāju ir Liepājā?",
        "Kāpēc, griežot sīpolus, asaro acis?",
    ),
    "et": (
        "Millal ehitati Tallinna raekoda?",
        "Kui palju elanikke on Tartus?",
        "Miks sibula lõikamine silmad vett jooksma paneb?",
    ),
    "vi": (
        "Cầu Long Biên được xây dựng khi nào?",
        "Thành phố Huế có bao nhiêu dân?",
        "Tại sao cắt hành lại chảy nước mắt?",
    ),
    "id": (
        "Kapan Candi Borobudur dibangun?",
        "Berapa jumlah penduduk kota Bandung?",
        "Mengapa mata berair saat memotong bawang?",
    ),
    "sq": (
        "Kur u ndërtua kalaja e Beratit?",
        "Sa banorë ka qyteti i Shkodrës?",
        "Pse na lotojnë sytë kur presim qepë?",
    ),
    "is": (
        "Hvenær var Hallgrímskirkja byggð?",
        "Hversu margir búa á Akureyri?",
        "Af hverju tárast fólk þegar það sker lauk?",
    ),
    "eu": (
        "Noiz eraiki zen Bizkaiko zubia?",
        "Zenbat biztanle ditu Gasteizek?",
        "Zergatik egiten dugu negar tipula moztean?",
    ),
    "sw": (
        "Mji Mkongwe wa Zanzibar ulijengwa lini?",
        "Jiji la Mombasa lina wakazi wangapi?",
        "Kwa nini tunatoa machozi tunapokata vitunguu?",
    ),
    "cy": (
        "Pryd cafodd castell Caernarfon ei adeiladu?",
        "Faint o bobl sy'n byw yn Abertawe?",
        "Pam mae torri nionod yn gwneud i ni grio?",
    ),
}
# What a source says and what an answer may not make of it: a denial dropped or added, another number, month or word.
OPPOSITES = {
    "en": (
        ("The vaccine does not prevent infection.", "The vaccine prevents infection."),
        ("The bridge was reopened to lorries.", "The bridge was not reopened to lorries."),
        ("None of the wells contained lead.", "The wells contained lead."),
        ("The plant burned 1,500 tonnes of coal a day.", "The plant burned 1,600 tonnes of coal a day."),
        ("The dose was reduced to forty milligrams.", "The dose was reduced to fourteen milligrams."),
        ("The museum opened on 3 October 2021.", "The museum opened on 3 November 2021."),
        ("The harvest ends in March.", "The harvest ends in May."),
        ("Rents increased in the old town.", "Rents decreased in the old town."),
        ("The court allowed the appeal.", "The court rejected the appeal."),
        ("The northern route is cheaper than the road.", "The northern route is dearer than the road."),
    ),
    "de": (
        ("Das Mittel wirkt nicht gegen Viren.", "Das Mittel wirkt gegen Viren."),
        ("Die Brücke wurde für Lastwagen freigegeben.", "Die Brücke wurde nicht für Lastwagen freigegeben."),
        ("Keiner der Brunnen enthielt Blei.", "Die Brunnen enthielten Blei."),
        (
            "Das Kraftwerk verbrannte täglich 1.500 Tonnen Kohle.",
            "Das Kraftwerk verbrannte täglich 1.600 Tonnen Kohle.",
        ),
        ("Die Dosis wurde auf vierzig Milligramm gesenkt.", "Die Dosis wurde auf vierzehn Milligramm gesenkt."),
        ("Das Museum öffnete am 3. Oktober 2021.", "Das Museum öffnete am 3. November 2021."),
        ("Die Ernte endet im März.", "Die Ernte endet im Mai."),
        ("Die Mieten sind in der Altstadt gestiegen.", "Die Mieten sind in der Altstadt gesunken."),
        ("Das Gericht gab der Klage statt.", "Das Gericht wies die Klage ab."),
        ("Die Nordroute ist billiger als die Straße.", "Die Nordroute ist teurer als die Straße."),
    ),
    "fr": (
        ("Le vaccin n'empêche pas l'infection.", "Le vaccin empêche l'infection."),
        ("Le pont a été rouvert aux camions.", "Le pont n'a pas été rouvert aux camions."),
        ("Aucun des puits ne contenait de plomb.", "Les puits contenaient du plomb."),
        (
            "La centrale brûlait 1 500 tonnes de charbon par jour.",
            "La centrale brûlait 1 600 tonnes de charbon par jour.",
        ),
        ("La dose a été réduite à quarante milligrammes.", "La dose a été réduite à quatorze milligrammes."),
        ("Le musée a ouvert le 3 octobre 2021.", "Le musée a ouvert le 3 novembre 2021."),
        ("La récolte se termine en mars.", "La récolte se termine en mai."),
        ("Les loyers ont augmenté dans la vieille ville.", "Les loyers ont diminué dans la vieille ville."),
        ("Le tribunal a accepté le recours.", "Le tribunal a rejeté le recours."),
        ("La route du nord est la plus longue.", "La route du nord est la plus courte."),
    ),
    "es": (
        ("La vacuna no evita la infección.", "La vacuna evita la infección."),
        ("El puente se reabrió para los camiones.", "El puente nunca se reabrió para los camiones."),
        ("Ninguno de los pozos contenía plomo.", "Los pozos contenían plomo."),
        (
            "La central quemaba 1.500 toneladas de carbón al día.",
            "La central quemaba 1.600 toneladas de carbón al día.",
        ),
        ("La dosis se redujo a cuarenta miligramos.", "La dosis se redujo a catorce miligramos."),
        ("El museo abrió el 3 de octubre de 2021.", "El museo abrió el 3 de noviembre de 2021."),
        ("La cosecha termina en marzo.", "La cosecha termina en mayo."),
        ("Los alquileres subieron en el casco antiguo.", "Los alquileres bajaron en el casco antiguo."),
        ("El tribunal admitió el recurso.", "El tribunal rechazó el recurso."),
        ("La ruta del norte es más barata que la carretera.", "La ruta del norte es más cara que la carretera."),
    ),
    "it": (
        ("Il vaccino non previene l'infezione.", "Il vaccino previene l'infezione."),
        ("Il ponte è stato riaperto ai camion.", "Il ponte non è stato riaperto ai camion."),
        ("Nessuno dei pozzi conteneva piombo.", "I pozzi contenevano piombo."),
        ("La centrale bruciava 1.500 tonnellate di carbone.", "La centrale bruciava 1.600 tonnellate di carbone."),
        ("La dose è stata ridotta a quaranta milligrammi.", "La dose è stata ridotta a quattordici milligrammi."),
        ("Il museo ha aperto il 3 ottobre 2021.", "Il museo ha aperto il 3 novembre 2021."),
        ("Il raccolto finisce a marzo.", "Il raccolto finisce a maggio."),
        ("Gli affitti sono aumentati nel centro storico.", "Gli affitti sono diminuiti nel centro storico."),
        ("Il tribunale ha accolto il ricorso.", "Il tribunale ha respinto il ricorso."),
        ("La via del nord è la più lunga.", "La via del nord è la più corta."),
    ),
    "pt": (
        ("A vacina não evita a infeção.", "A vacina evita a infeção."),
        ("A ponte foi reaberta aos camiões.", "A ponte nunca foi reaberta aos camiões."),
        ("Nenhum dos poços continha chumbo.", "Os poços continham chumbo."),
        (
            "A central queimava 1.500 toneladas de carvão por dia.",
            "A central queimava 1.600 toneladas de carvão por dia.",
        ),
        ("A dose foi reduzida para quarenta miligramas.", "A dose foi reduzida para catorze miligramas."),
        ("O museu abriu em 3 de outubro de 2021.", "O museu abriu em 3 de novembro de 2021."),
        ("A colheita termina em março.", "A colheita termina em maio."),
        ("As rendas subiram no centro histórico.", "As rendas desceram no centro histórico."),
        ("O tribunal aceitou o recurso.", "O tribunal rejeitou o recurso."),
        ("A rota do norte é mais barata do que a estrada.", "A rota do norte é mais cara do que a estrada."),
    ),
    "nl": (
        ("Het vaccin voorkomt geen besmetting.", "Het vaccin voorkomt besmetting."),
        ("De brug werd heropend voor vrachtwagens.", "De brug werd niet heropend voor vrachtwagens."),
        ("Geen van de putten bevatte lood.", "De putten bevatten lood."),
        ("De centrale verbrandde 1.500 ton kolen per dag.", "De centrale verbrandde 1.600 ton kolen per dag."),
        ("De dosis werd verlaagd tot veertig milligram.", "De dosis werd verlaagd tot veertien milligram."),
        ("Het museum opende op 3 oktober 2021.", "Het museum opende op 3 november 2021."),
        ("De oogst eindigt in maart.", "De oogst eindigt in mei."),
        ("De huren zijn gestegen in de oude stad.", "De huren zijn gedaald in de oude stad."),
        ("De rechtbank heeft het beroep aanvaard.", "De rechtbank heeft het beroep verworpen."),
        ("De noordelijke route is goedkoper dan de weg.", "De noordelijke route is duurder dan de weg."),
    ),
}
# One number in two notations, then two numbers that look alike.
NOTATIONS = (
    ("Es waren 1.500 Menschen.", "There were 1,500 people.", True),
    ("Il y avait 1 500 personnes.", "There were 1,500 people.", True),
    ("Es waren 1’500 Menschen.", "There were 1500 people.", True),
    ("Der Anteil lag bei 3,5 Prozent.", "The share was 3.5 percent.", True),
    ("Es kostete 1.234,56 Euro.", "It cost 1,234.56 euros.", True),
    ("There were 12,34,567 voters.", "There were 1,234,567 voters.", True),
    ("كان هناك ٣٤٥ شخصا.", "There were 345 people.", True),
    ("Il y en avait quatre-vingt-douze.", "There were 92 of them.", True),
    ("Hubo dos mil millones de visitas.", "There were 2 billion visits.", True),
    ("Es gab zweihundertfünfzig Anträge.", "There were 250 applications.", True),
    ("Es waren 1.500 Menschen.", "There were 15,000 people.", False),
    ("Der Anteil lag bei 3,5 Prozent.", "The share was 35 percent.", False),
    ("Es kostete 2 Billionen Euro.", "It cost 2 billion euros.", False),
    ("Il y avait 1 500 personnes.", "There were 1,600 people.", False),
    ("Es gab zweihundertfünfzig Anträge.", "There were 205 applications.", False),
)


def print_languages() -> None:
    _print_identified()
    _print_across()
    _print_notations()
    _print_opposites()


def _print_identified() -> None:
    print("language identification, share told right")
    for name, questions in (("ours", OURS), ("others", OTHERS)):
        wrong = [
            f"{code} as {told}"
            for code, asked in questions.items()
            for question in asked
            if (told := detect_language(question)) != code
        ]
        total = sum(len(asked) for asked in questions.values())
        told_right = f"{total - len(wrong)} of {total}"
        print(f"  {name}, {len(questions)} languages: {told_right}; wrong: {', '.join(wrong) or 'none'}")
    print(f"data: {PARALLEL} {sha256_of(PARALLEL)}\n      {EXPERTQA} {sha256_of(EXPERTQA)}")
    for code in SPOKEN:
        asked = [question["question"][code] for paragraph in _paragraphs() for question in paragraph["questions"]]
        _print_share(f"parallel questions, {code}", [detect_language(question) == code for question in asked])
    lines = data_path(EXPERTQA).read_text(encoding="utf-8").splitlines()
    _print_share("questions of experts, en", [detect_language(json.loads(line)["question"]) == "en" for line in lines])


def _print_across() -> None:
    print(f"the sentence that a translated sentence stands for, among the {NEAREST} nearest passages of its article")
    for ours, theirs in (*permutations(SPOKEN, 2), *((code, code) for code in SPOKEN)):
        found: list[bool] = []
        first: list[bool] = []
        read_sentences = 0
        for index, claim, (start, end) in _cases(ours, theirs):
            hits = [passage.start < end and passage.end > start for passage in index.nearest(claim, count=NEAREST)]
            found.append(any(hits))
            first.append(hits[:1] == [True])
            read_sentences += sum(len(split_sentences(p.quote)) for p in index.nearest(claim, count=NEAREST))
        _print_share(
            f"{ours} → {theirs}", found, f"the first {_share(first)}; {read_sentences / len(found):.1f} sentences read"
        )


def _cases(ours: str, theirs: str) -> Iterator[Case]:
    """The sentences that hold an answer in one language, and where the answer stands in the other.

    The source is the whole article in the other language: five paragraphs. Answers that stand in several sentences of
    a paragraph are left out.
    """
    for article in json.loads(data_path(PARALLEL).read_text(encoding="utf-8")):
        index = EvidenceIndex(_source("\n".join(paragraph["text"][theirs] for paragraph in article["paragraphs"])))
        offset = 0
        for paragraph in article["paragraphs"]:
            yield from _pairs_of(paragraph, ours, theirs, offset, index)
            offset += len(paragraph["text"][theirs]) + 1


def _pairs_of(paragraph: dict, ours: str, theirs: str, offset: int, index: EvidenceIndex) -> Iterator[Case]:
    claims, sentences = (split_sentences(paragraph["text"][code]) for code in (ours, theirs))
    seen: set[str] = set()
    for question in paragraph["questions"]:
        claimed = [s.text for s in claims if question["answer"][ours].lower() in s.text.lower()]
        said = [s for s in sentences if question["answer"][theirs].lower() in s.text.lower()]
        if len(claimed) == len(said) == 1 and claimed[0] not in seen:
            seen.add(claimed[0])
            yield index, claimed[0], (offset + said[0].start, offset + said[0].end)


def _print_notations() -> None:
    right = [
        any(match_tokens(ours, other) for ours in read(claim).numbers for other in read(source).numbers) is same
        for claim, source, same in NOTATIONS
    ]
    _print_share("numbers told the same or another across notations", right)


def _print_opposites() -> None:
    print("a veto on the opposite (and, falsely, on the sentence itself)")
    for code, pairs in OPPOSITES.items():
        vetoed = [bool(find_vetoes(claim, source)) for source, claim in pairs]
        false = [bool(find_vetoes(source, source)) for source, _ in pairs]
        missed = "; ".join(claim for (_, claim), hit in zip(pairs, vetoed, strict=True) if not hit)
        _print_share(f"{code}", vetoed, f"false {sum(false)}" + (f"; missed: {missed}" if missed else ""))
    print()


def _paragraphs() -> list[dict]:
    articles = json.loads(data_path(PARALLEL).read_text(encoding="utf-8"))
    return [paragraph for article in articles for paragraph in article["paragraphs"]]


def _source(content: str) -> Source:
    return Source("src_1", "", "", content, "", READ_AT, SourceMetadata("example.org", len(content.split()), "files"))


def _print_share(name: str, hits: list[bool], more: str = "") -> None:
    print(f"  {name}: {_share(hits)} of {len(hits)}" + (f"; {more}" if more else ""))


def _share(hits: list[bool]) -> str:
    return f"{sum(hits) / len(hits):.1%}" if hits else "–"
