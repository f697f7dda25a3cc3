"""Well-known names, and ordinary words that only look like names, as data.

Places and organisations are looked up folded; they give a name its type and never make one an entity (spec 6.3).
"""

from __future__ import annotations

from typing import Final

from mnemond.text.stop_words import FUNCTION_WORDS


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name.strip() for line in lines for name in line.split(",") if name.strip())


LOCATIONS: Final = _names(
    "africa, antarctica, asia, australia, europe, america, north america, south america, latin america",
    "middle east, argentina, austria, bangladesh, belgium, brazil, bulgaria, canada, chile, china, colombia",
    "croatia, cuba, denmark, egypt, england, estonia, ethiopia, finland, france, germany, greece, hungary",
    "iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, kenya, latvia, lithuania",
    "malaysia, mexico, morocco, nepal, netherlands, new zealand, nigeria, norway, pakistan, peru, philippines",
    "poland, portugal, romania, russia, saudi arabia, scotland, serbia, singapore, slovakia, slovenia",
    "south africa, south korea, spain, sri lanka, sweden, switzerland, taiwan, thailand, tunisia, turkey, uk",
    "ukraine, united arab emirates, united kingdom, united states, usa, vietnam, wales, amsterdam, athens",
    "atlanta, austin, bali, bangkok, barcelona, beijing, berlin, bogota, boston, brooklyn, brussels, budapest",
    "buenos aires, cairo, cape town, chengdu, chicago, copenhagen, dallas, delhi, denver, detroit, dubai, dublin",
    "edinburgh, frankfurt, geneva, guangzhou, hamburg, hangzhou, hanoi, havana, helsinki, hong kong, honolulu",
    "houston, istanbul, jakarta, jerusalem, kiev, kyiv, kyoto, lagos, las vegas, lima, lisbon, london",
    "los angeles, madrid, manila, manhattan, melbourne, mexico city, miami, milan, minneapolis, montreal, moscow",
    "mumbai, munich, nairobi, nanjing, nashville, new delhi, new orleans, new york, new york city, osaka, oslo",
    "paris, philadelphia, phoenix, pittsburgh, portland, prague, rio de janeiro, rome, san diego, san francisco",
    "san jose, santiago, sao paulo, seattle, seoul, shanghai, shenzhen, stockholm, sydney, taipei, tallinn",
    "tel aviv, tokyo, toronto, vancouver, venice, vienna, warsaw, washington, wuhan, zurich, silicon valley",
    "alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho",
    "illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota",
    "mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, north carolina",
    "north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee",
    "texas, utah, vermont, virginia, west virginia, wisconsin, wyoming, 中国, 美国, 英国, 法国, 德国, 日本, 韩国",
    "俄罗斯, 印度, 加拿大, 澳大利亚, 新加坡, 台湾, 香港, 澳门, 北京, 上海, 广州, 深圳, 杭州, 南京, 成都, 武汉",
    "西安, 重庆, 天津, 苏州, 厦门, 青岛, 长沙, 郑州, 东京, 纽约, 伦敦, 巴黎",
)

ORGANIZATIONS: Final = _names(
    "google, alphabet, apple, microsoft, amazon, meta, facebook, netflix, openai, anthropic, deepmind, nvidia",
    "intel, amd, ibm, oracle, sap, salesforce, adobe, cisco, dell, hp, samsung, sony, huawei, tencent, alibaba",
    "baidu, bytedance, xiaomi, tesla, spacex, boeing, airbus, toyota, honda, bmw, uber, lyft, airbnb, paypal",
    "twitter, linkedin, reddit, tiktok, youtube, spotify, walmart, target, starbucks, nike, ikea, disney, nasa",
    "nato, unesco, unicef, fbi, cia, fda, epa, ieee, ietf, iso, w3c, mit, ucla, harvard, stanford, yale",
    "princeton, oxford, cambridge, red cross, united nations, european union, red hat, hashicorp, jetbrains",
    "mozilla, canonical, vmware, shopify, nintendo, amazon web services, 阿里巴巴, 腾讯, 百度, 字节跳动, 华为",
    "小米, 京东, 美团, 清华大学, 北京大学, 谷歌, 微软, 苹果",
)

PLACE_ENDINGS: Final = _words(
    "city town village county island islands lake river mountain mountains mount beach bay valley canyon desert",
    "forest street road avenue boulevard square bridge park airport harbor harbour district province",
)
PLACE_BEGINNINGS: Final = _words(
    "mount lake fort saint san santa port cape",
)
PLACE_SUFFIXES: Final = ("省", "市", "县", "区", "镇", "村", "路", "街", "湖", "山", "岛", "机场")

ORGANIZATION_ENDINGS: Final = _words(
    "inc corp corporation ltd llc gmbh plc company group holdings labs laboratories foundation institute",
    "university college school academy bank hospital clinic association society union committee council agency",
    "ministry department studios technologies systems partners ventures",
)
ORGANIZATION_SUFFIXES: Final = (
    "公司",
    "集团",
    "大学",
    "学院",
    "银行",
    "医院",
    "基金会",
    "研究院",
    "研究所",
    "委员会",
    "协会",
)

SURNAMES: Final = (
    "王李张刘陈杨赵吴周徐孙胡朱郭何罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁沈姚卢傅钟姜崔谭廖范汪陆贾韦"
    "邹熊孟秦邱侯薛尹雷龙史陶贺顾毛郝龚邵钱严武戴莫孔"
)
"""Frequent Chinese surnames, without those that begin ordinary words (高 方 金 时 白 黄 于 马 江 石 任 夏)."""

_CALENDAR: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january",
    "february march april may june july august september october november december jan feb mar apr jun jul aug",
    "sep sept oct nov dec today tomorrow yesterday tonight morning afternoon evening weekend week month year",
    "spring summer autumn fall winter christmas halloween thanksgiving easter valentine valentines ramadan diwali",
    "hanukkah xmas",
)

_PEOPLES: Final = _words(
    "english chinese french german spanish italian japanese korean russian portuguese dutch swedish norwegian",
    "danish finnish polish greek turkish arabic hebrew hindi indian mexican american british canadian australian",
    "african asian european irish scottish brazilian thai vietnamese latin roman western eastern northern",
    "southern christian catholic jewish muslim buddhist",
)

_TALK: Final = _words(
    "hi hey hello bye goodbye thanks thank thx please pls sorry congrats congratulations welcome cheers dear yes",
    "yeah yep yup no nope nah ok okay okey sure well wow whoa woah oh ooh ah aha aw aww awww haha hahaha lol lmao",
    "omg wtf btw imo imho iirc afaik fyi asap tbh idk rip brb ttyl smh jk nvm np ty yw xoxo hmm mmm huh ugh yay",
    "yikes oops gosh god damn dude guys man bro mom mum dad mommy daddy mama papa grandma grandpa sis everyone",
    "everybody someone somebody anyone anybody noone nobody people person user users folks friends team nothing",
    "something anything everything mr mrs ms dr prof sir madam lgtm ptal tldr wip tbd tba na etc vs ie eg re ps",
    "nb cc eod eom am pm ad bc ii iii iv vi vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx xxi",
)

_SMALL: Final = _words(
    "after again against ago ahead almost alone along already although always among another anyone are around",
    "away back because been before began behind being below best better between beyond bit both bring but came",
    "come could did done down during each early either else enough even ever every except far few first five for",
    "found four full gave get gets getting give given go goes going gone good got great had half hand hard has",
    "have having here high hope how however i'm if in instead into is it its just keep kept kind know last late",
    "later least leave left less let lets like little long look lot lots love low made main make makes making",
    "many maybe mean might mine more most much must my near need never new next nice none nor not now off often",
    "old once one only onto open other others otherwise our out over own part past per put quite rather real",
    "really right run same saw say says see seem seen seven several she should show since six small so some soon",
    "stay still such take taken ten than that the their them then there these they thing things think this those",
    "though three through thus till time to together too took toward try two under unless until up upon us use",
    "used uses using usual very via want was way we went were what when where whether which while who whole whose",
    "why will with within without work would yet you your zero able about above across actually also any as at be",
    "by can cannot do does don eight end nine of on or ours yours hers his him her he me didn doesn isn wasn won",
    "wouldn couldn shouldn hasn haven hadn aren weren ain ll ve big bad hot cold red blue green black white free",
    "live life home day days night job car dog cat baby kid kids fun cool awesome amazing glad happy sad excited",
    "absolutely definitely totally exactly basically currently recently finally usually hopefully especially",
    "unfortunately meanwhile moreover furthermore therefore additionally similarly overall speaking looking",
    "talking",
)

_WORKING: Final = _words(
    "add adds added adding all allow alpha alter and apply assert avoid base basic begin beta block body bool",
    "branch break bug bugs bugfix build built bump call calls cap case cause change changed changes chaos check",
    "clean clear close code commit config copy core create critical cut danger data date dead debug default",
    "delete demo deny dep deps deploy design detail dev dir disable doc docs done draft drop dry dump edit emit",
    "empty enable entry env error errors event exit fail failed fails false fatal feat feature field file files",
    "final fix fixed fixes fixing flag flags flaky force format from func global goal group hack halt head help",
    "hide hint hotfix idea ideas ignore impl import improve include index info init input insert int internal",
    "into issue issues item items join key keys kill lib license limit line link lint list load local lock log",
    "logs loop major manual master max merge merged message meta method migrate min minor misc mock mode module",
    "move moved name names nil nit note notes notice null number object ops option order output owner page panic",
    "param params part pass patch path perf phase plan point post pr prs pre print prod proof pull push query",
    "queue quick read readme ready refactor reject release remove removed rename replace reply report require",
    "reset result retry return returns revert review rewrite role root row rule rules safe save scope script",
    "section select send sent server service session set setup ship skip sort source spec stage start state",
    "static status step steps stop storage store string style summary support sync table tag tags task tasks temp",
    "test tested tests testing text tick todo fixme tool top trace true try type types unit update updated",
    "updates upgrade url urls usage valid value values var verify version view wait warn warning where wontfix",
    "wrap write yaml scratch id ids xxx tbc",
)

_NOUNS: Final = _words(
    "abc accepted art author baby bacteria band bar baz beach bbq bf bff bird birds blockchain boat body book",
    "books boss boy boys brain breakfast brother business buyer camp camping candidate care case center centre",
    "chapter charity chicken child children chocolate christ church city class client clients closes clothes",
    "coach coffee colleague colleagues college communication community company competitor competitors compose",
    "connection consumer contact context cooking country couple course court creator creators credit crew culture",
    "customer customers dad dance dancing deadline department developer developers dial diary dinner diy dj",
    "doctor doctors dog dogs dress earth editor email emotion empathy employee employees employer energy engineer",
    "engineers enthusiasm environment exam examiner example examples exercise expert experts face faith fall fam",
    "family faq farm fashion father fear feedback feeling feelings film fire fish fitness food football freedom",
    "friendship fruit fruits funny game games garden gardening gf girl girls goals grade gratitude growth guitar",
    "gym happiness header headers healing health healthcare heart heaven hell hero history hobby hockey holiday",
    "holidays home honey horse house host human impact industry internet interviewer investor investors joy judge",
    "king ladies lady land language law lawyer lead leader learning letter listen love luck lunch machine magic",
    "mail man market masters math meeting memories memory men mentor mentors mind mistakes mobile money moon",
    "mother movie movies museum music nature neighbor network node nodes nuts ocean office painting paintings",
    "panelists parent parents party passion patience patient pc peace peer peers pets phone photo photos",
    "photography physics piano pizza planning player players poetry police pottery practice pride problem",
    "problems professor progress project quality queen question questions race rain rat reading reality receive",
    "recipe recipes recipient refs relationship research respect resume river road romance running safety school",
    "science scout sea security seller shop sides skill skills sky sleep snow society soccer software song songs",
    "soul soup space spinach sports spouse staff stakeholders star story stress strength student students studies",
    "stuff success sun supervisor swimming tea teacher teachers technology theory therapy tourism town toys trade",
    "traffic train training travel traveling trees trip trust truth tv unity universe unix validator validators",
    "variety vegetables veggies video violin visual vote votes walk war watch water weather web website wedding",
    "weekend wife winner wisdom woman women wood word words worker workers world writer writing xyz yoga youth",
    "zoo follow followup specifically advisory cf foo",
)

ORDINARY: Final = _NOUNS | FUNCTION_WORDS | _CALENDAR | _PEOPLES | _TALK | _SMALL | _WORKING
"""Words, folded, that are no names however they are written: "IT is UP", "from Monday", "by Default"."""

NOT_CAMEL: Final = _words(
    "ToC ToS PhD PhDs kWh mAh pH mRNA tRNA KiB MiB GiB TiB KHz MHz GHz kHz kB dB YoY OKs IDs TVs PCs CDs DVDs",
    "McDonald",
)
"""Abbreviations of small and capital letters that no code has for a name."""
