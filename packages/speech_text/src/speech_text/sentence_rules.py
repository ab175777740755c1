"""What each language knows about its abbreviations and the words that begin its sentences.

A full stop after an abbreviation is ambiguous, and the four groups say how the next word settles it:

- `attached`: leans on what follows and never ends a sentence (`Dr.`, `e.g.`);
- `named`: ends one only if the next word is one that begins sentences (`Inc. They`, but `Inc. Smith` goes on);
- `upper`: ends one before a capital (`etc. Then`), not before a small letter or a digit;
- `numbered`: an everyday word that is an abbreviation only before a digit (`No. 5`, but `No. I can't.`).

The lists were made for this project from what assistants write. Entries are lower case, without the final stop, inner
stops removed (`e.g.` is `eg`). sentencex, the best whole-text segmenter in our trial, is not used: a prefix of a text
has no stable answer from it, so every delta would run it again over the buffer, and its abbreviation list holds
everyday words (`me`, `ok`, `ill`, `may`, `miss`), after which a voice would wait for a sentence that has ended.
"""

from dataclasses import dataclass, field
from functools import cache

from speech_text.languages import sentence_language


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True)
class LanguageRules:
    """One language's tables; see the module's text for the groups.

    `starters` begin sentences and are rarely names. `joiners` are the words before which a run-on may be cut.
    `exclaimed` are names that end in a mark of their own (`Yahoo!`). `not_after_clock` follow `a.m.` in the same
    sentence (days, months, time zones). `leading` are the prepositions of an opening phrase (`At 5 a.m. Mr Ito …`).
    """

    language: str
    attached: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    upper: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    clock: frozenset[str] = frozenset({"am", "pm"})
    starters: frozenset[str] = frozenset()
    joiners: frozenset[str] = frozenset()
    exclaimed: frozenset[str] = frozenset()
    not_after_clock: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    #: A number with a stop is an ordinal before a noun, and nouns are capitals (German).
    ordinal_stops: bool = False
    #: What goes on after a closing quote (Japanese quotative and case particles).
    particles: frozenset[str] = field(default_factory=frozenset)


_COMMON = LanguageRules(
    language="",
    attached=_words("dr prof mr mrs ms cf vs viz ca approx eg ie mm"),
    named=_words("st mt inc corp ltd llc plc co bros jr sr esq phd uk eu usa vol ed nr"),
    upper=_words("etc al kg km cm mg ml"),
    numbered=_words("no nos art n° nº n"),
)

_ENGLISH = LanguageRules(
    language="en",
    attached=_words(
        """mx messrs mmes drs profs rev fr hon gov gen col maj capt cpt lt cmdr cdr adm sgt cpl pvt pres supt insp det
        sen rep reps sens amb atty asst adj brig bvt def ens mgr msgr ofc pfc rabbi sra srta aka fka
        vis resp incl excl est viz ibid op fig figs eq eqs ch chap pp pg para vol vols"""
    ),
    named=_words(
        """ft pt blvd ave av rd ln hwy pkwy pl sq ct dept dist div univ inst assn assoc govt natl intl mfg bldg apt ste
        fl rm ext tel fax p eds trans jan feb mar apr jun jul aug
        sept sep oct nov dec mon tue tues wed thu thur thurs fri sat sun dc la ny nyc ba bs ma md phd jd mba
        rn bc ad bce ce vp pm ok cal calif colo conn fla ga ill ind kan ky mass mich minn miss mo mont neb
        nev okla ore pa penn tenn tex va vt wash wis wyo ont que mex min max avg temp misc orig cont"""
    )
    - _words("sun sat mar ill miss pm ok mass mo min max"),
    upper=_words("bn mn tn m k hr hrs mins secs sec yr yrs lb lbs oz gal mi yd mph kph sqft rpm doz pct"),
    numbered=_words("sec min max jan mar sat sun mass miss ill par rule item part step line room"),
    starters=_words(
        """i you he she it we they this that these those there here the a an my your his her its our their mine yours
        who whom whose what which when where why how and but or nor so yet for if unless until while
        although though because since as after before once now then today tomorrow yesterday tonight later
        next first second third finally also however therefore thus hence moreover furthermore meanwhile
        instead otherwise still even just only maybe perhaps please thanks thank yes no not never always
        often sometimes usually in on at by from with without about above across against along among around
        between during into near of off over through to toward towards under up upon within is are was were
        am be been do does did have has had can could will would shall should may might must let don't
        doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't haven't hasn't
        hadn't nobody nothing none no-one everyone everybody everything someone somebody something anyone
        anybody anything each every all both either neither some any many most much few several another
        other others one two three four five six seven eight nine ten good great well okay ok oh hey hi
        hello sorry sure right wow look see note remember call ask take make go come get give keep try use
        check too very such same like unlike despite according based"""
    ),
    joiners=_words(
        "and but or nor so yet because although though while whereas if unless until since when where which who that"
    ),
    exclaimed=_words("yahoo jeopardy joomla yum oliver oklahoma airplane mamma-mia"),
    not_after_clock=_words(
        """monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january
        february march april may june july august september october november december jan feb mar apr jun
        jul aug sep sept oct nov dec est edt et pst pdt pt cst cdt ct mst mdt mt gmt utc bst cet cest ist
        jst eastern pacific central mountain"""
    ),
    leading=_words("at by around about before after until since from on"),
)

_SPANISH = LanguageRules(
    language="es",
    attached=_words(
        """sr sra srta sres sras d dª dña dra dres prof profa lic ing arq gral cnel cap tte sto sta mons pej ej ee fdo
        atte excmo excma ilmo ilma aprox ant"""
    ),
    named=_words(
        """uu eeuu av avda c cl pza pl ctra dpto depto edo núm págs pág tel tlf vol art fig sl srl cía hnos ud uds
        vd vds máx mín ref"""
    ),
    upper=_words("seg hrs kms km² sig ss dc ac"),
    numbered=_words("no art"),
    starters=_words(
        """el la los las lo un una unos unas yo tú él ella ello nosotros nosotras vosotros vosotras ellos ellas usted
        ustedes este esta esto estos estas ese esa eso esos esas aquel aquella aquello mi mis tu tus su sus
        nuestro nuestra que qué quien quién cuando cuándo como cómo donde dónde cuál cuánto por para porque
        pero y e o u ni si sí no en de a al del con sin sobre desde hasta entre durante según tras ante
        también además entonces luego después antes ahora hoy mañana ayer aquí allí ahí así ya nunca siempre
        quizá quizás tal vez hay es son era fue fueron está están estaba ha han he hemos puede pueden debe
        tiene tienen hace todo toda todos todas algo nada nadie alguien cada otro otra muchos muchas bueno
        bien gracias hola perdón claro vale venga mira llame visite se me te le les nos"""
    ),
    joiners=_words("y e o u pero sino porque aunque mientras que cuando donde si como pues así"),
    not_after_clock=_words("gmt utc cet cest"),
    leading=_words("a desde hacia sobre"),
)

_FRENCH = LanguageRules(
    language="fr",
    attached=_words(
        """m mm mme mmes mlle mlles mgr dr drs pr prof càd pex ex env cf vol gal col cdt cne lt sgt ste sts stes"""
    ),
    named=_words(
        """av ave bd bld boul ch chap fig art p pp pl r rte st tél réf no nos n° éd j-c jc apr janv févr juil sept oct
        nov déc dim lun mer jeu ven sam hab max min cie sté sarl sa"""
    )
    - _words("mer no ch"),
    upper=_words("etc h s "),
    numbered=_words("no nos art n° nº max min mer"),
    starters=_words(
        """je tu il elle on nous vous ils elles ce cet cette ces c j l d n s qu m t y le la les un une des du de mon ma
        mes ton ta tes son sa ses notre nos votre vos leur leurs qui que quoi quand comment pourquoi où
        combien quel quelle quels quelles et mais ou donc or ni car si comme puis ensuite alors après avant
        pendant depuis jusque dans sur sous avec sans chez pour par entre vers selon malgré aussi ainsi
        cependant pourtant toutefois enfin maintenant aujourd'hui demain hier ici là voici voilà oui non
        merci bonjour bonsoir salut peut-être jamais toujours tout toute tous toutes rien personne chaque
        chacun plusieurs certains quelques autre est sont était a ont avez faut fait peut en au aux très
        bien bon"""
    ),
    joiners=_words("et mais ou donc car parce puisque quand lorsque tandis si que qui dont où"),
    leading=_words("à vers dès avant après"),
)

_GERMAN = LanguageRules(
    language="de",
    attached=_words(
        """hr hrn fr frl dipl ing mag med jur phil dres zb b dh bzw bspw ggf evtl vgl inkl exkl zzgl abzgl ca rd sog
        zzt idr ua ia einschl insb insbes tel nr nrn bd hl geb gest verh st allg gem lt betr"""
    ),
    named=_words(
        """str abs abb kap jh jhd jan feb mär apr jun jul aug sept okt nov dez mo di mi do sa so gmbh ag kg max min
        art aufl hrsg univ inst"""
    )
    - _words("so mag"),
    upper=_words("usw etc usf mio mrd tsd std sek stk h uvm"),
    numbered=_words("art so max min"),
    starters=_words(
        """ich du er sie es wir ihr der die das den dem des ein eine einen einem einer mein meine dein deine sein seine
        unser unsere euer ihre dieser diese dieses jener jene jenes wer was wann wo wie warum wieso welche
        welcher welches und aber oder denn sondern doch wenn weil obwohl während nachdem bevor sobald falls
        dass ob als dann danach davor dort hier jetzt nun heute morgen gestern bald später zuerst zunächst
        schließlich außerdem deshalb daher trotzdem jedoch also auch nur noch schon nie immer oft manchmal
        vielleicht bitte danke ja nein nicht kein keine im in am an auf aus bei mit nach seit von vor zu zum
        zur zwischen über unter durch für gegen ohne um bis ist sind war waren wird werden hat haben hatte
        kann können muss müssen soll sollen darf man alle alles viele einige manche jeder jede jedes nichts
        niemand jemand etwas gut hallo guten vielen möchten können sagen"""
    ),
    joiners=_words("und aber oder denn sondern weil obwohl während wenn dass ob als nachdem bevor damit"),
    ordinal_stops=True,
    leading=_words("um ab gegen seit"),
)

_ITALIAN = LanguageRules(
    language="it",
    attached=_words(
        """sig sigg sigra signa dott dottssa dr prof profssa ing avv arch geom rag on sen gen col cap ten mons pes es
        spett egr gent illmo cfr ca circa ss s"""
    ),
    named=_words("pag pagg art fig vol tel ac dc spa srl snc sas vle pzza nr tab min max"),
    upper=_words("ecc etc"),
    numbered=_words("art n no"),
    starters=_words(
        """io tu lui lei egli ella noi voi loro essi il lo la i gli le l un uno una un' questo questa questi queste
        quello quella quelli quelle mio mia tuo tua suo sua nostro vostro chi che cosa quando come dove
        perché quanto quale e ed ma o oppure né se anche inoltre poi dopo prima ora adesso oggi domani ieri
        qui qua là così però quindi dunque infatti invece mentre sebbene in di a da con su per tra fra nel
        nella nei al alla del della dal dalla sul sulla è sono era erano ha hanno ho abbiamo può possono
        deve va vanno c' c'è ci non sì no mai sempre forse grazie ciao buongiorno prego certo bene ogni
        tutto tutti tutte niente nessuno qualcuno altro molti alcuni si"""
    ),
    joiners=_words("e ed ma o oppure perché mentre sebbene quando che se dove quindi però"),
    leading=_words("alle verso dalle"),
)

_PORTUGUESE = LanguageRules(
    language="pt",
    attached=_words(
        """exa sr sra srs sras srta dr dra drs prof profa profª eng arq exmo exma ilmo ilma d dª gen cel cap ten sgt pe
        fr pex ex aprox sto sta"""
    ),
    named=_words("av r al pça pç rod km apto ap pág págs núm nº fig vol art tel ltda cia eua ac dc máx mín"),
    upper=_words("etc h min seg"),
    numbered=_words("no art n ap al"),
    starters=_words(
        """eu tu ele ela nós vós eles elas você vocês o a os as um uma uns umas este esta isto esse essa isso aquele
        aquela aquilo estes estas esses essas meu minha teu tua seu sua nosso nossa que quem quando como
        onde qual quanto por porque para mas e ou nem se sim não em de do da dos das no na nos nas ao à aos
        às com sem sobre desde até entre durante segundo após também além então depois antes agora hoje
        amanhã ontem aqui ali lá assim já nunca sempre talvez há é são era foi foram está estão estava tem
        têm ter pode podem deve faz tudo todo toda todos todas algo nada ninguém alguém cada outro outra
        muitos muitas bom bem obrigado obrigada olá oi claro desculpe ligue volta pois"""
    ),
    joiners=_words("e ou mas porque embora enquanto quando que se onde pois então"),
    leading=_words("às desde até por"),
)

_HINDI = LanguageRules(
    language="hi",
    attached=_words("डॉ डा श्री श्रीमती सुश्री प्रो पं स्व कु मो"),
    named=_words("""ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू एक्स वाई जेड ज़ेड रु कि मी सें लि"""),
    joiners=_words("और लेकिन परंतु या क्योंकि जबकि कि जो जब तो मगर इसलिए"),
)

_JAPANESE = LanguageRules(language="ja", particles=frozenset("とっをがはもにでのへやか"))
_CHINESE = LanguageRules(language="zh", joiners=_words("但是 因为 所以 而且 然后 如果 不过"))

_ALL = {
    rules.language: rules
    for rules in (
        _ENGLISH,
        _SPANISH,
        _FRENCH,
        _GERMAN,
        _ITALIAN,
        _PORTUGUESE,
        _HINDI,
        _JAPANESE,
        _CHINESE,
    )
}


@cache
def rules_for(language: str) -> LanguageRules:
    """The tables for a language tag, with what is common to all languages merged in (the language's own word wins).

    Raises:
        LanguageUnsupported: there are no rules for the language.
    """
    own = _ALL[sentence_language(language)]
    taken = own.attached | own.named | own.upper | own.numbered
    return LanguageRules(
        language=own.language,
        attached=own.attached | (_COMMON.attached - taken),
        named=own.named | (_COMMON.named - taken),
        upper=own.upper | (_COMMON.upper - taken),
        numbered=own.numbered | (_COMMON.numbered - taken),
        clock=own.clock,
        starters=own.starters,
        joiners=own.joiners,
        exclaimed=own.exclaimed,
        not_after_clock=own.not_after_clock,
        leading=own.leading,
        ordinal_stops=own.ordinal_stops,
        particles=own.particles,
    )
