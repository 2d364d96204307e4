"""Text that speaks to the assistant instead of the reader: which sentences of it try to instruct the machine.

Such a sentence never reaches a prompt, never counts as evidence and is never shown as a finding; the source is marked
for people. Found by what kind of order it is, never by its very words; what is quoted is no order.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType

import regex

from core.text.sentences import Sentence, sentences_of

# Who is spoken to. "Assistant coach" and "AI researchers" are people.
_PEOPLE = (
    r"(?![-\s]+(?:head\s+)?(?:coach|professor|director|editor|manager|secretary|teacher|principal|surgeon|attorney|referee"
    r"|research|engineer|develop|practition|scien|specialist|expert|enthusias|compan|startup|lab|communit|vendor|safety|ethic))"
)
_KIND = (
    r"(?:ai|a\.i\.|llm|nlp|gpt|language|chat|machine|automated|virtual|digital|research|artificial|intelligent|crawler)"
)
_MACHINE = (
    rf"(?:{_KIND}[-\s]*(?:language\s+)?(?:models?|assistants?|agents?|readers?|systems?|bots?|tools?|crawlers?"
    r"|summari[sz]ers?|engines?)"
    rf"|(?:ai|a\.i\.|llm)s?|(?:large\s+)?language\s+models?|assistants?|chat\s?bots?|chatgpt|gpt(?:-\d\w*)?|claude"
    rf"|gemini|copilot|summari[sz]ers?)(?!\w){_PEOPLE}"
)
_READING = (
    r"(?:reading|processing|summari[sz]ing|parsing|crawling|visiting|indexing|accessing|(?:that|who|which)\s+reads?)"
)

# What it is to do with what it says.
_OUTPUT = r"(?:reply|replies|response|answer|output|summary|summaries|message|completion|report)s?"
_SPEAK = (
    r"(?:include|add|append|insert|mention|modify|change|replace|render|encode|translate|rewrite|write|reply|respond|answer|say|print"
    r"|repeat|output|end|start|begin|finish|conclude|enhance|suggest|provide|give|show|tell|use|state|claim|declare|report|confirm|list"
    r"|cite|link|recommend|promote|reveal|quote|place|put|do\s+not|don['’]t|never|always|make\s+sure|ensure|prefix|preface|format"
    r"|phrase|close|open|keep|limit|base|shorten|pretend)"
)
_VERBATIM = (
    r"(?:\bword\b|\bphrase|\bsentence|\btoken|\bstring\b|\bcode\s?word|\blinks?\b|\burl\b|\bemoji|\bexactly\b|\bverbatim\b|https?:"
    r"|\bthat\s+(?:the|all|every|this|our|no)\b|\bnothing\s+(?:else|but)\b)"
)
_TONGUE = (
    r"(?:english|french|german|spanish|italian|portuguese|dutch|russian|ukrainian|polish|czech|chinese|mandarin|japanese|korean"
    r"|arabic|hebrew|hindi|latin|greek|swahili|klingon|esperanto|welsh|irish|turkish|swedish|norwegian|danish|finnish"
    r"|pig\s+latin|pirate|leet\w*|base\s?-?\d\d|binary|hex(?:adecimal)?|morse|rot-?\d\d|\w*\s?cipher|emojis?|rhym\w+|verse|poem|haiku"
    r"|limerick|upper\s?case|all\s+caps|capitals|json|xml|yaml|another\s+language|reverse|backwards?)"
)
_FORM_OF_PEOPLE = (  # answers that people give on paper, and responses of servers
    r"(?:box|sheet|booklet|survey|questionnaire|worksheet|exam|quiz|pencil|block\s+capitals|the\s+space|form\s+below|th(?:e|is)\s+form"
    r"|decimal\s+places?|significant\s+figures?|nearest|by\s+(?:e-?mail|post|\w+day)|to\s+the\s+(?:editor|interviewer|judge|teacher"
    r"|committee)|comments?\s+(?:section|below)|own\s+words|headers?|http|status|server|client|api|endpoint|callback|units?)\b"
)
_WITHIN = r"[^.!?\n]"
# How a pattern begins says where it is looked for: where a sentence or an order can begin, at any word, or at a sign.
_SENTENCE, _START, _ANY, _SIGN = "(?#sentence)", "(?#order)", "(?#word)", "(?#sign)"

_CLASSES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "addressed": (
            rf"{_SENTENCE}(?:dear|hey|hi|hello|attention|attn|calling|(?:\w+\s+)?(?:note|notice|message|memo|instructions?|reminder"
            rf"|directions|guidance|word)\s*(?:to|for))\s*[,:]?\s+(?:the\s+|an?\s+|any\s+|all\s+|every\s+|our\s+)?(?:\w+\s+)?{_MACHINE}",
            rf"{_SENTENCE}(?:(?:information|advice|content|text|facts|context|disclaimer)\s+)?(?:for|to)\s+(?:the\s+|an?\s+|any\s+|all\s+|every\s+)?(?:\w+\s+)?{_MACHINE}"
            rf"(?:\s+(?:only|alone)|\s+{_READING}{_WITHIN}{{0,40}})?\s*(?:[:)\]]|[,;—–-]\s*(?:please|you|do|never|always|{_SPEAK})\b)",
            rf"\b(?:if|when|since|because|as)?\s*you\s*(?:are|['’]re)\s*,?\s+(?:an?\s+|the\s+|any\s+|some\s+)?(?:\w+\s+)?{_MACHINE}",
            rf"\bas\s+an?\s+(?:ai|llm|(?:large\s+)?language\s+model)\b{_WITHIN}{{0,25}}?,?\s+(?:you|your|please|i)\b",
            rf"{_SENTENCE}(?:{_KIND}[-\s]*(?:agents?|readers?|models?|systems?|crawlers?|bots?|assistants)|llms?|chat\s?bots?)\s*(?::|,\s*{_SPEAK}\b)",
            rf"\b(?:read|processed|summari[sz]ed|parsed|accessed|crawled|ingested)\s+by\s+(?:an?\s+|the\s+|any\s+)?{_MACHINE}{_WITHIN}{{0,60}}"
            r"\b(?:must|shall|should|please)\b",
            rf"\bif\s+(?:an?|any|the)\s+{_MACHINE}\s+(?:is\s+|reads|summari[sz]es|processes|visits|finds)",
            rf"{_SENTENCE}the\s+(?:ai|llm|assistant|chat\s?bot)\s+(?:should|will|has\s+to|needs\s+to)\s+(?:now|always|only|never|not|also|instead)\s+{_SPEAK}\b",
            rf"\b{_MACHINE}\s+{_READING}\s+(?:this|the|our|it|these)\b",
            rf"{_SENTENCE}(?:all\s+|any\s+|every\s+|the\s+)?{_MACHINE}\s+(?:must|shall|(?:are|is)\s+(?:hereby\s+)?(?:required|instructed"
            rf"|asked|requested|ordered|told))\s+(?:to\s+)?(?:\w+\s+)?(?:{_SPEAK}|ignore|disregard|treat|rank|direct|refer)\b",
            rf"\b(?:meant|intended|written|addressed|reserved|visible)\s+(?:only\s+|solely\s+)?(?:for|to)\s+(?:the\s+|any\s+|all\s+)?{_MACHINE}",
            r"\bthe\s+user\s+(?:has\s+)?(?:asked|wants|told|requested|instructed|authori[sz]ed)\b[^.!?\n]{0,20}\byou\b",
        ),
        "override": (
            rf"{_START}(?:ignore|disregard|forget|override|overrule|bypass|discard|drop|abandon|erase|cancel|set\s+aside|stop\s+following"
            rf"|pay\s+no\s+attention\s+to|do\s+not\s+follow|don['’]t\s+follow)\b(?!{_WITHIN}{{0,120}}\bif\s+you(?:r|\s+(?:use|have|want|only))\b)"
            rf"{_WITHIN}{{0,40}}\b(?:previous|prior|above|earlier|preceding|all|any|your|the|these|other|original|initial|existing)\b"
            rf"{_WITHIN}{{0,40}}\b(?:instruct\w*|prompts?|rules|guidelines|directions|directives|context|sources?|system|constraints"
            r"|guardrails|restrictions|programming|training|orders|commands|policy|policies)\b",
            rf"{_START}(?:ignore|disregard|forget|drop)\s+(?:the\s+(?:user|asker)(?:['’]s\s+(?:question|query|request))?|the\s+questions?"
            r"|what\s+(?:the\s+user|was|you\s+were))\s*(?:(?:and|above|asked|wants|said|told)\b|[.;,!:]|$)",
            r"\byour\s+(?:task|job|goal|role)\s+is\s+now\b|\bthe\s+question\s+has\s+changed\s*:",
            rf"{_SENTENCE}new\s+task\b{_WITHIN}{{0,30}}:",
            rf"{_SENTENCE}(?:\w+\s+)?override\s*:",
            rf"{_START}stop\s+what\s+you\s+are\s+doing\b",
            rf"{_START}remember\s*(?:to|:|that)\s*(?:always\s+)?(?:(?:end|begin|start)\s+with|your\s+(?:instructions|task|role)\b|you\s+are\s+an?\s)",
            rf"{_START}(?:forget|ignore|disregard)\s+(?:everything|anything|all|whatever)\s+(?:you|above|before|that\s+(?:came|was)|i\b|we\b|said)",
            r"\b(?:system|developer|safety)\s+(?:prompts?|messages?|override|instructions?)\b\s*(?::|override|update|is\s+(?:void|suspended))",
            r"\b(?:new|updated|important|hidden|secret|additional|revised)\s+(?:system\s+)?instructions?\s*(?:for\s+you|:)",
            rf"{_START}you\s+(?:are\s+(?:now|no\s+longer)\s+(?:an?\s+)?(?:dan\b|in\s+\w+\s+mode|unrestricted|uncensored|bound\s+by|jailbroken"
            rf"|(?:\w+\s+){{0,2}}{_MACHINE})|(?:have\s+been|are)\s+(?:hereby\s+)?(?:instructed|ordered|commanded|reprogrammed)\s+to\b)",
            r"\byour\s+(?:new|real|true|actual|sole)\s+(?:task|goal|instructions?|objective|directive|identity|persona|mission|purpose)"
            r"\s*(?:is|are|:|will\s+be)",
            r"\bfrom\s+(?:now|here|this\s+(?:point|moment))\s+(?:on(?:wards?)?|forward)?,?\s+(?:(?:every|all|each)\s+(?:answer|repl|respons)\w*"
            rf"|(?:you\s+(?:are|will|must|shall|should)\s+)?(?:only\s+|always\s+)?(?:answer|respond|reply|act|speak|obey|pretend|behave|ignore|write\s+in)\b"
            rf"|you\s+are\s+(?:an?\s+)?(?:\w+\s+)?{_MACHINE})",
            rf"{_START}(?:pretend|act|behave|role-?play|speak)\s+(?:to\s+be|that\s+you|as\s+(?:if|though|an?)|like\s+an?)\b{_WITHIN}{{0,40}}"
            rf"(?:{_MACHINE}|\byou\s+(?:are|have|were)\b|\bunrestricted|\bno\s+(?:rules|restrictions|limits|filter)|\bpirate|\bdan\b)",
            rf"\b(?:this\s+is|i\s+am|we\s+are|message\s+from|on\s+behalf\s+of)\s+(?:the\s+|your\s+)(?:developers?|system\s+administrators?"
            rf"|operators?|creators?|programmers?|openai|anthropic)\b{_WITHIN}{{0,60}}\b(?:you|your|assistant|must|instruct\w*|override|speaking)",
        ),
        "answer": (
            rf"\b(?:the|every|each|any|all|its|your)\s+(?:final\s+)?{_OUTPUT}\s+(?:must|shall|has\s+to|have\s+to|needs?\s+to|should|will)\s+"
            rf"(?:always\s+|only\s+|also\s+)?(?:begin|start|end|open|close|conclude|include|contain|mention|say|state|read|recommend|repeat"
            rf"|consist|be)\b(?!{_WITHIN}{{0,80}}\b{_FORM_OF_PEOPLE}){_WITHIN}{{0,60}}(?:{_VERBATIM}|\b{_TONGUE}\b)",
            rf"{_START}(?:begin|start|end|finish|conclude|preface|prefix|open|close|sign)\s+(?:off\s+)?(?:every|each|all|any|the|this)\s+"
            rf"(?:\w+\s+){{0,2}}{_OUTPUT}\s+(?:with|by|in|using)\b",
            rf"{_START}(?:reply|respond|answer)\s+(?:only\s+|exclusively\s+|always\s+|simply\s+|strictly\s+|just\s+|to\s+(?:the\s+user|everyone"
            rf"|everything|(?:every|any|all)\s+\w+)\s+)*(?:with|in|using|as|by)\s+(?:an?\s+|the\s+|only\s+|exactly\s+|saying\s+)*"
            rf"(?:words?\b|phrase|sentence|single\b|token|code\b|encoding|language\b|nothing\b|{_TONGUE}\b)",
            rf"{_START}(?:answer|reply\s+to|respond\s+to)\s+(?:every|any|each|all)\s+(?:\w+\s+)?(?:questions?|quer(?:y|ies)|prompts?)\s+"
            rf"(?:with|by|as|using|in\s+(?:\w+\s+)?{_TONGUE})\b",
            rf"\byour\s+(?:\w+\s+)?{_OUTPUT}\s+(?:must|shall|should|has\s+to|have\s+to|needs?\s+to)\s+(?:always\s+|only\s+|also\s+)?(?:begin|start"
            rf"|end|include|contain|mention|name|say|state|recommend|praise|list|cite|link|repeat|conclude)\b(?!{_WITHIN}{{0,80}}\b{_FORM_OF_PEOPLE})",
            rf"{_START}(?:say|print|output|reply|respond|answer|write|return)\b{_WITHIN}{{0,80}}\b(?:and|but)\s+nothing\s+(?:else|more)\b",
            rf"{_START}(?:output|return|print|emit|give|produce)\s+(?:only\s+|exactly\s+|just\s+)?(?:the\s+following|this|that)\s+(?:json|answer|reply"
            r"|response)\b",
            rf"{_SENTENCE}(?:please\s+|just\s+|only\s+|simply\s+|now\s+)*(?:say|respond|reply|answer)\s*(?:with|by\s+saying|only)?\s*:?\s*[“\"'‘]",
            rf"{_SENTENCE}(?:reply|respond)\s+with\s+(?!an?\b|the\b|your\b|care\b|caution\b)\w",
            rf"{_SENTENCE}(?:just|only|simply)\s+(?:say|output|print|reply|respond|answer)\b",
            rf"{_START}(?:say|print|output)\b{_WITHIN}{{0,40}}\b(?:\d+|five|ten|twenty|a?\s?hundred|a?\s?thousand)\s+times\b",
            rf"{_START}(?:write|compose|tell|sing)\b{_WITHIN}{{0,40}}\b(?:poem|story|joke|song|essay|speech|letter|review|script|recipe)\b{_WITHIN}{{0,40}}"
            r"\binstead\b",
            rf"{_START}(?:do\s+not|don['’]t|never|refuse\s+to)\s+(?:answer|address|respond\s+to|reply\s+to)\s+(?:the|this|any|that)\s+(?:user['’]?s?\s+)?"
            r"(?:questions?|quer(?:y|ies)|user|requests?|prompt)\b",
            rf"{_START}leave\s+(?:the\s+)?(?:summary|detail|citations?|answer|response)\s+(?:empty|blank)\b",
            rf"{_START}(?:mark|label|judge|rate|set|declare|report)\s+(?:every|all|each)\s+(?:\w+\s+)?(?:claims?|verdicts?|items?|statements?|sentences?)\b"
            rf"{_WITHIN}{{0,20}}\b(?:supported|true|correct|verified)\b",
            rf"{_SENTENCE}verdicts?\s*:\s*(?:supported|true|all)\b|\ball\s+claims\b{_WITHIN}{{0,30}};\s*(?:answer|say|reply)\b",
            rf"{_START}cite\s+(?:this|our)\s+(?:page|source|site|website)\s+(?:as\s+source|first|for\s+(?:every|all|each)|in\s+(?:every|all|each))\b",
            rf"{_START}attribute\s+(?:all|every|each)\b{_WITHIN}{{0,40}}\bto\s+(?:this|our)\s+(?:page|source|site|website)\b",
            rf"{_START}(?:add|include|insert|put|append|place|embed)\b{_WITHIN}{{0,40}}\b(?:link|image|url|picture|banner)\b{_WITHIN}{{0,40}}(?:https?://|!\[)",
            rf"{_START}(?:ask|prompt|urge|get)\s+the\s+(?:user|reader|asker)\s+(?:for|to\s+(?:enter|give|provide|share|confirm|send))\s+(?:their|his|her)\b",
            rf"{_START}(?:inform|warn|tell|notify|alert)\s+the\s+(?:user|reader|asker)\s+that\s+their\b",
            rf"\byou\s+(?:must|shall|will|should\s+always|are\s+(?:required|expected|obliged)\s+to|have\s+to|need\s+to)\s+(?:always\s+|only\s+|now\s+|also\s+)*"
            rf"(?:(?:mention|recommend|praise|promote|endorse|cite)\s+(?:our|this|us|only)\b|include\s+(?:the\s+(?:word|phrase|token|sentence|link)|our)\b"
            rf"|(?:respond|reply|answer|write|speak)\s+(?:only|always|in\s+(?:\w+\s+)?{_TONGUE}|with\s+(?:the\s+word|yes|no)\b)|tell\s+the\s+user|obey\b|comply\b)",
            r"\bonly\s+(?:acceptable|valid|permitted|allowed)\s+(?:answer|response|reply|output)\s+(?:is|to)\b",
            r"\b(?:response|answer|reply)\s+to\s+the\s+user['’]?s?\b[^.!?\n]{0,20}\bis\b",
            rf"{_START}(?:summari[sz]e|list|describe|translate|tell\s+me|give\s+me|show\s+me|what\s+(?:is|are))\s+(?:all\s+)?your\s+(?:\w+\s+)?(?:prompt|instructions"
            r"|rules)\b",
            rf"{_START}(?:list|show|print|reveal|output)\b{_WITHIN}{{0,40}}\byou\s+(?:were|have\s+been)\s+given\b",
            r"\banswer\s+to\s+(?:every|all|any|each|the\s+user['’]?s?)\s+(?:\w+\s+)?(?:questions?|quer\w+)\s+is\b",
            rf"{_START}(?:translate|convert|render|rewrite|rephrase|encode|transliterate|write|output|say)\s+(?:everything|all(?:\s+of)?(?:\s+the)?"
            rf"(?:\s+\w+)?|the\s+(?:above|entire|whole|preceding|rest|(?:\w+\s+)?{_OUTPUT}|conversation|sources?)|your\s+\w+|(?:this|every|each)"
            rf"\s+{_OUTPUT}){_WITHIN}{{0,40}}\b(?:to|into|in|as|using|with)\s+(?:an?\s+|the\s+)?(?:\w+\s+)?{_TONGUE}\b",
            rf"{_START}(?:write|compose|phrase|format|present|produce|generate|give|make|deliver|provide)\s+(?:the|this|every|all|any|each)\s+"
            rf"(?:\w+\s+)?{_OUTPUT}\b{_WITHIN}{{0,30}}\b(?:as|in|into|using|like)\s+(?:an?\s+)?{_TONGUE}\b",
            rf"{_START}(?:repeat|say|echo|recite|output|print)\b{_WITHIN}{{0,60}}(?:\bverbatim\b|\bword\s+for\s+word\b|\bback\s+to\s+the\s+user\b"
            rf"|\bin\s+(?:the|every|each|any)\s+{_OUTPUT}\b)",
            rf"{_START}(?:include|say|output|print|repeat|add|insert|append)\s+(?:the\s+|this\s+)?(?:exact\s+|secret\s+)?(?:token|canary"
            r"|code\s?word|passphrase|phrase|string)\b",
            rf"{_START}(?:include|add|insert|append|put|place|mention|state|recommend|promote|praise|favou?r|endorse|advertise)\b"
            rf"(?!{_WITHIN}{{0,100}}\b{_FORM_OF_PEOPLE}){_WITHIN}{{0,80}}\b(?:in|to|into|at\s+the\s+(?:end|top|start|beginning)\s+of|with)\s+"
            rf"(?:every|any|each|all|the)\s+(?:final\s+|other\s+)?(?:reply|replies|responses?|answers?|output|completions?)\b",
            rf"{_START}(?:always\s+)?(?:recommend|promote|praise|endorse|advertise|mention)\b{_WITHIN}{{0,60}}\b(?:when(?:ever)?\s+(?:asked|answering"
            r"|(?:someone|anyone|users?|a\s+user|the\s+user)\s+asks?|you\s+(?:are|answer|respond|summari[sz]e))|to\s+the\s+(?:user|asker))",
            rf"\b(?:when(?:ever)?|if)\s+(?:you\s+are\s+|someone\s+|anyone\s+|users?\s+|a\s+user\s+|the\s+user\s+|you\s+)?(?:asks?(?:ed)?"
            rf"|summari[sz](?:e|es|ing)|answer(?:ing)?|respond(?:ing)?)\b(?!\s+(?:the|an?)\s+(?:phone|door|call|bell))(?!\s+data){_WITHIN}{{0,60}},\s*(?:always\s+|only\s+|please\s+|you\s+must\s+)?"
            r"(?:say|answer|respond|reply|state|recommend|mention|claim|insist|output|report|cite)\b",
            rf"{_START}(?:summari[sz]e|describe|present)\s+(?:this|the)\s+(?:page|article|document|text|source|site|website)\s+(?:as|positively"
            r"|favou?rably|only|using|by\s+saying)\b",
            rf"{_START}(?:do\s+not|don['’]t|never)\s+(?:tell|inform|alert|warn|notify|show|reveal|disclose|mention)\b{_WITHIN}{{0,40}}"
            r"\b(?:the\s+(?:user|asker|human|person\s+asking)|this\s+(?:instruction|notice|message|order))\b",
            rf"{_START}(?:do\s+not|don['’]t|never)\s+(?:cite|quote|trust|use|mention|rely\s+on|consult|read)\s+(?:any\s+|the\s+|these\s+|all\s+)?"
            r"other\s+(?:sources?|pages?|sites?|websites?|documents?|results?|passages?)\b(?!\s+of\b)",
            rf"{_START}(?:cite|quote|use|trust)\s+(?:only\s+(?:this|our)|(?:this|our)\s+(?:page|source|site|website|document|text)\s+(?:only|alone"
            r"|exclusively|instead))\b",
            rf"{_START}(?:rank|rate|treat|regard|consider|mark|label|score|trust|prefer)\s+(?:this|our)\s+(?:page|source|site|website|document"
            rf"|article|passage|text)\b{_WITHIN}{{0,40}}\b(?:most|only|highest|high|authorit\w+|reliable|trust\w+|definitive|above|over|first|true"
            r"|correct|verified)\b",
            rf"{_START}(?:state|say|report|set|claim|mark|declare|give|assign)\b{_WITHIN}{{0,40}}\bconfidence\b{_WITHIN}{{0,30}}"
            r"\b(?:high|highest|maximum|100|certain|full|very)\b",
            rf"{_START}(?:tell|assure|convince|persuade|urge|advise)\s+(?:the|your)\s+(?:user|reader|asker|human|questioner|person\s+asking)\s+(?:that\s+"
            r"(?:the|this|our|there|all|every|you|they|their)|to\s+(?:visit|click|buy|go|download|install|call|contact|send|open|log|enter"
            r"|follow|transfer|pay|subscribe))\b",
            rf"{_START}(?:reveal|print|show|repeat|output|display|leak|disclose|expose|recite|dump|share|paste)\b{_WITHIN}{{0,40}}\b(?:your|the)\s+"
            r"(?:\w+\s+){0,2}(?:system\s+(?:prompt|message|instructions?)|(?:initial|hidden|secret|original|internal)\s+(?:prompt|instructions?"
            r"|message)|(?:prompt|instructions)\s+above|(?:conversation|chat)\s+(?:history|so\s+far)|other\s+(?:documents?|sources?))",
            rf"{_START}(?:send|post|submit|forward|upload|transmit|exfiltrate|e?mail|leak|append|encode)\b{_WITHIN}{{0,40}}\b(?:the\s+user\S*|the"
            rf"\s+(?:whole\s+|full\s+|entire\s+)?(?:conversation|prompt|chat|context|question)|(?:all|every|any)\s+(?:\w+\s+)?(?:sources?"
            rf"|documents?|messages?)|your\s+(?:context|prompt|instructions|memory|history)){_WITHIN}{{0,60}}(?:https?://|www\.|\burl\b"
            r"|webhook|\S@\S|\bto\s+\w+\.\w{2,6}\b)",
        ),
        "search": (
            r"\b(?:next|new|only|real|follow-?up)\s+(?:web\s+)?search(?:\s+(?:query|terms?|phrase)\s+(?:is|must|should|shall|has\s+to)"
            r"|\s+(?:must|should|shall|has\s+to)\s+(?:be|read|look|cover|ask|include|contain|use|target|focus))\b",
            r"\b(?:your|the)\s+(?:next|new|only|real)\s+(?:quer(?:y|ies)|sub-?questions?)\s+(?:must|shall|has\s+to|should)\s+(?:be|read|ask)\b",
            r"\byour\s+(?:next|new|other)\s+(?:quer(?:y|ies)|search(?:es)?)\s+(?:must|shall|have\s+to|has\s+to|should)\b",
            rf"{_START}(?:run|do|start|perform|issue)\s+(?:an?\s+|another\s+|one\s+more\s+)?(?:web\s+|new\s+)?search\s+(?:for|on|about)\b{_WITHIN}{{0,60}}"
            r"\b(?:before\s+(?:you\s+)?answer\w*|instead|next|and\s+(?:cite|report|use|include))\b",
            rf"\byou\s+(?:should|must|will)\s+(?:now\s+|next\s+|also\s+)?(?:search|google|browse)\s+(?:for\s+)?{_WITHIN}{{0,60}}\b(?:next|now|instead|first)\b",
            r"\b(?:call|invoke|use|trigger|run)\s+the\s+(?:web[\s_-]?)?(?:search|fetch|browse|browser|browsing|web)\s+(?:tool|plugin)\s+(?:with|to|on|for)\b",
            rf"{_SENTENCE}(?:next|new|follow-?up)\s+(?:web\s+)?(?:search\s+)?quer(?:y|ies)\s*:",
            rf"{_START}(?:search|google|look)\s+(?:the\s+(?:web|internet)\s+)?(?:for|only|up|next)\b{_WITHIN}{{0,80}}(?:\binstead\b|\bnext\b|\band\s+"
            r"(?:report|cite|include|summari[sz]e|answer|return)\b)",
            rf"{_START}(?:stop|end|abort|cancel)\s+(?:searching|researching|reading|the\s+(?:search|research))\b{_WITHIN}{{0,40}}(?:\band\b|\bhere\b"
            r"|\bnow\b|$|[.!])",
            rf"{_START}(?:change|replace|rewrite|modify|expand|extend)\s+(?:your\s+(?:\w+\s+)?|the\s+search\s+|the\s+user['’]?s?\s+|every\s+)(?:quer(?:y"
            r"|ies)|questions?|search(?:es)?|plan)\b",
            rf"{_START}(?:add|append|include|put|insert)\b{_WITHIN}{{0,60}}\b(?:to|in|into)\s+(?:(?:your|every|each|all|the\s+next)\s+(?:search\s+)?"
            r"|the\s+search\s+)(?:quer(?:y|ies)|search(?:es)?|plan)\b",
            r"\b(?:call|invoke|use|trigger|run)\s+(?:your\s+(?:\w+[\s-]){0,2}(?:tools?|plugins?|functions?|browser)\b|(?:the\s+)?[`'\"]?\w+_\w+[`'\"]?"
            r"\s+tool\b)",
        ),
        "protocol": (
            r"(?-i:\b(?:END|BEGIN|START|BEGINNING)(?:\s+OF)?\s+(?:THE\s+|ALL\s+)?(?:SOURCES?|DOCUMENTS?|CONTEXT|PASSAGES?|(?:SEARCH\s+)?RESULTS?|DATA"
            r"|(?:WEB\s*)?PAGE|(?:SYSTEM\s+|USER\s+)?(?:PROMPT|MESSAGE|INSTRUCTIONS?|QUESTION|INPUT)|CONVERSATION|EVIDENCE|TOOL\s+\w+)\b)",
            rf"{_SENTENCE}(?:end|begin(?:ning)?|start)\s+of\s+(?:the\s+|all\s+)?(?:(?:untrusted|retrieved|quoted|external|provided)\s+)?(?:sources?"
            r"|context|passages?|search\s+results?|web\s*pages?|system\s+\w+|prompt|user\s+\w+|tool\s+\w+|evidence|content|material)\s*(?:[\p{P}\p{S}]|$)",
            r"\b(?:sources?|documents?|context|passages?)\s+ends?\s+here\b",
            rf"{_SENTENCE}(?:system|developer)\s*(?:prompt|message|note|notice|update)?\s*:(?=.*\b(?:you|your|ignore|disregard|must|answer|reply|respond"
            r"|output|say|print|users?|instructions?|prompt|assistant|override|from\s+now|sources?|tell|mode)\b)",
            rf"{_SENTENCE}assistant\s*:(?!\s*(?-i:\p{{Lu}}[\p{{L}}.]+\s+\p{{Lu}}))",
            rf"{_SENTENCE}(?:human|user)\s*:(?=.*(?:\?|\bplease\b|\bignore\b|\btell\b|\bgive\b|\bwrite\b|\bsay\b))",
            rf"{_SENTENCE}tool\s+(?:output|response|result)s?\s*:|(?-i:#{{2,4}}\s*(?:SYSTEM|ASSISTANT|INSTRUCTION|USER)\s*$)",
            rf"{_SENTENCE}assistant\s+to=",
            r"\[(?:system|assistant)\]\(#",
            rf"{_SENTENCE}#{{2,4}}\s*(?:system|instruction|response|assistant|user|human)\s*:",
            r"<\|?(?:im_start|im_end|system|endoftext|start_of_turn|end_of_turn|eot_id|start_header_id)\|?>|<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>",
            r"</(?:sources?|question|system|instructions?|assistant|tool_\w+|function_\w+|search_results?)\s*>|<(?:source\s+id|tool_\w+|function_\w+"
            r"|invoke|system|assistant)\b[^<>]{0,80}>",
            r"\bhere(?:\s+is|['’]s)\s+(?:the|your|my|a)\s+(?:final|complete|correct|requested|finished|required)\s+(?:json|output|answer|response"
            r"|object|result)\b",
            r"\b(?:final|correct|required|expected)\s+(?:json|output|answer|response)\b[^.!?\n]{0,20}[:=]\s*[{\[`]",
            r"\{\s*[\"“'](?:summary|detail|citations|queries|verdicts?|claims|role|tool|tool_calls?|function|arguments|final_answer|next_query"
            r"|search_query|confidence|sub_questions|items)[\"”']\s*:",
            r"[\"“']name[\"”']\s*:\s*[\"“']\w+[\"”']\s*,\s*[\"“'](?:arguments|parameters|input)[\"”']\s*:",
            rf"{_SENTENCE}(?:action\s+input|tool[\s_-]?(?:call|use|input|result)|function[\s_-]?call)\s*:",
            rf"{_SENTENCE}action\s*:\s*(?:search|fetch|browse"
            r"|click|open|finish)\b",
        ),
        "mass mention": (
            r"@(?<![\w.@]@)(?<!\b(?:the|an?|of|use|uses|using|like|called|named|for|as|suppress|disable|allow|via|by|or|and)\s@)"
            r"(?:everyone|here|channel)\b(?!\s+(?:roles?|permissions?|mentions?|pings?|tags?|notifications?|commands?|overwrites?|is|are|was"
            r"|can|does|applies|and|or)\b)",
            r"<!(?:everyone|here|channel)(?:\|[^<>]{0,40})?>|<@&\d+>",
            rf"{_START}(?:notify|ping|alert|tag|mention|message)\s+(?:everyone|everybody|all\s+(?:members|users)|(?=the\s+(?:whole|entire)))\b"
            rf"{_WITHIN}{{0,40}}(?:@|\bchannel\b|\bserver\b|\bworkspace\b|\bchat\b|\bthread\b)",
        ),
        "defanged link": (
            r"\bh(?:xx|\*\*|__)ps?\s?(?:\[?:\]?\s?//|\[://\]|\[:\])",
            r"\bhttps?(?:\[:\]//|\[://\]|\s:\s?//|://\S{1,60}\[\.\])",
            r"(?<=\b\w[\w-]{1,39})(?:\[\.\]|\[dot\])(?:[\w-]{1,40}(?:\[\.\]|\[dot\]|\.)){0,3}(?:com|net|org|info|io|ru|cn|xyz|top|site|biz|example|test)\b",
        ),
        "other languages": (
            r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b[^.!?\n]{0,60}\b(?:anweisung\w*|instruktion\w*|befehle?|regeln|prompt\w*)\b",
            r"\b(?:ignore[rz]?|oublie[rz]?)\b[^.!?\n]{0,40}\b(?:instructions?|consignes?)\s+(?:précédentes?|ci-dessus|antérieures?)",
            r"\b(?:ignora|ignore|olvida|olvide|ignori|dimentica|esqueça)\b[^.!?\n]{0,40}\b(?:instrucciones|istruzioni|instruções)\b",
            rf"{_SENTENCE}(?:antworte[nt]?|schreibe?|antwortet)\s+(?:nur|immer|ausschließlich)\b",
            rf"{_SENTENCE}(?:réponds|répondez|responde|responda"
            r"|rispondi)\s+(?:uniquement|seulement|toujours|solo|sólo|siempre|únicamente|apenas|sempre|solamente)\b",
        ),
    }
)


@lru_cache
def _compiled(place: str, before: str = "") -> regex.Pattern[str]:
    """All patterns of one place, whatever their class; the four take 0.4 s, so not before the first text is read."""
    of_place = [
        pattern.removeprefix(place)
        for patterns in _CLASSES.values()
        for pattern in patterns
        if _place_of(pattern) == place
    ]
    return regex.compile(f"{before}(?:{'|'.join(of_place)})", regex.IGNORECASE | regex.MULTILINE)


def _place_of(pattern: str) -> str:
    if pattern.startswith((_SENTENCE, _START)):
        return _SENTENCE if pattern.startswith(_SENTENCE) else _START
    return _ANY if pattern.startswith((r"\b", r"(?-i:\b")) else _SIGN


_BEGINNING = regex.compile(r"\b(?=(\w[\w\W]{0,3}))")  # of a word: enough to say of most that no pattern begins so
_OPENING = regex.compile(r"^[\W_]{0,12}?(?=[\w#])", regex.MULTILINE)
# Where an order can begin; "attackers tell it to ignore …" gives none.
_CLAUSE = regex.compile(
    r"(?:^|[.!?:;,)\]—–…-]\s|[:>(\[*_]|\b(?:and|now|also|then|please|must|shall|always|instead|just|you|kindly)\s)[\s\p{P}\p{S}]{0,12}"
    r"(?P<lead>(?:(?:please|now|first|also|then|next|instead|immediately|just|kindly)\b[\s,:!.-]{1,4}"
    r"|(?:important|note|stop|warning|urgent|caution)\s?[,:!.–—-]{1,3}\s?){0,3})",
    regex.IGNORECASE | regex.MULTILINE,
)
# "Begin every sentence of your answer": looked for from its end, since orders are common and "your answer" is rare.
_YOUR_OUTPUT = regex.compile(
    rf"\b(?:(?:in|to|into|of|with|from|before|after)\s+)?your\s+(?:\w+\s+){{0,2}}{_OUTPUT}\b(?!{_WITHIN}{{0,80}}\b{_FORM_OF_PEOPLE})",
    regex.IGNORECASE,
)
_ORDER = regex.compile(rf"\b{_SPEAK}\b", regex.IGNORECASE)
_LONGEST_ORDER = 12
_REACH = 120  # characters from an order to what it is about, within a sentence
_CLAUSE_END = regex.compile(r"[.!?\n]")

_QUOTED = regex.compile(
    r"“[^”]{1,400}”|\"[^\"]{1,400}\"|«[^»]{1,400}»|„[^“”]{1,400}[“”]|(?<!\w)'[^'\n]{3,300}'(?!\w)|(?<!\w)‘[^’\n]{3,300}’(?!\w)|`[^`]{1,400}`"
)
_EXAMPLE = regex.compile(r"\b(?:for\s+example|for\s+instance|such\s+as|e\.g\.)[\s,:]", regex.IGNORECASE)
_ABOUT = regex.compile(
    r"\b(?:attack\w*|inject\w*|jailbreak\w*|adversar\w*|malicious|payload\w*|exploit\w*|prompts?|phrases?|examples?|commands?"
    r"|templates?|strings?|markers?|sentences?|texts?|lines?)\b",
    regex.IGNORECASE,
)
_WORD = regex.compile(r"\p{L}{2,}")
_MIN_WORDS_ABOUT = 3  # around a quotation, for the sentence to speak about it
_FENCE = ("```", "~~~")


def instructions_in(text: str) -> list[tuple[int, int]]:
    """Half-open spans that speak to an assistant, in order: such a sentence and its neighbours in the paragraph.

    The neighbours go too, since what is to be said often stands beside the order to say it.
    """
    return list(_instructions_in(text))


def is_instruction(sentence: str) -> bool:
    """Whether a sentence of a source or of an answer orders a machine about; what it quotes does not count."""
    return bool(instructions_in(sentence))


def without_quoted(sentence: str, before: str = "") -> str:
    """The sentence on one line without what it only quotes: in quotation marks, as code, or as an example.

    `before` is the sentence before it, which may say that an example follows.
    """
    if sentence.lstrip().startswith(_FENCE):
        return "" if before.rstrip().endswith(":") or _ABOUT.search(before) else _on_one_line(sentence)
    line = _on_one_line(sentence)
    bare = _QUOTED.sub(" ", line)
    if len(_WORD.findall(bare)) < _MIN_WORDS_ABOUT:
        bare = line
    example = _EXAMPLE.search(bare)
    if example:
        head = bare[: example.start()]
        if len(_WORD.findall(head)) >= _MIN_WORDS_ABOUT or _ABOUT.search(head) or _ABOUT.search(before):
            bare = head
    return bare


@lru_cache(maxsize=256)
def _instructions_in(text: str) -> tuple[tuple[int, int], ...]:
    sentences = sentences_of(text)
    flagged: set[int] = set()
    for place in _candidates(sentences):
        before = sentences[place - 1].text if place else ""
        if _places_of_orders(without_quoted(sentences[place].text, before)):
            flagged.add(place)
            flagged.update(near for near in (place - 1, place + 1) if _is_beside(text, sentences, place, near))
    return tuple((sentences[place].start, sentences[place].end) for place in sorted(flagged))


def _candidates(sentences: Sequence[Sentence]) -> list[int]:
    """The places of sentences that may order something. All are looked at in one go: a page has hundreds."""
    lines = [_on_one_line(sentence.text) for sentence in sentences]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    whole = "\n".join(lines)
    return sorted({bisect_right(starts, at) - 1 for at in _places_of_orders(whole)})


def _on_one_line(text: str) -> str:
    """As a machine reads it: compatibility forms made plain, invisible characters and line breaks gone.

    A cell of a table begins as a sentence does.
    """
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return " ".join(text.replace(" | ", ". ").split())


def _places_of_orders(text: str) -> list[int]:
    """Where something is ordered in sentences that stand on a line each."""
    at_sign, at_sentence = _compiled(_SIGN, r"(?=[<\[{@\"“'])"), _compiled(_SENTENCE)
    places = [found.start() for found in at_sign.finditer(text)]
    places += [found.end() for found in _OPENING.finditer(text) if at_sentence.match(text, found.end())]
    places += [word.start() for word in _BEGINNING.finditer(text) if _begins(_ANY, word)]
    for found in _CLAUSE.finditer(text):
        if any(
            (word := _BEGINNING.match(text, at)) and _begins(_START, word) for at in {found.end(), found.start("lead")}
        ):
            places.append(found.end())
    return places + [found.start() for found in _YOUR_OUTPUT.finditer(text) if _is_ordered(text, found.start())]


def _begins(place: str, word: regex.Match[str]) -> bool:
    """Whether a pattern of this place matches at a `_BEGINNING`; tried only where one can begin so."""
    return _may_begin(place, word[1]) and _compiled(place).match(word.string, word.start()) is not None


@lru_cache(maxsize=1 << 14)
def _may_begin(place: str, beginning: str) -> bool:
    return _compiled(place).match(beginning, partial=True) is not None


def _is_ordered(text: str, at: int) -> bool:
    """Whether an order stands before `at` in the same sentence."""
    before = text[max(0, at - _REACH - _LONGEST_ORDER) : at]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    return _ORDER.search(before[ends[-1] if ends else 0 :]) is not None


def _is_beside(text: str, sentences: Sequence[Sentence], place: int, near: int) -> bool:
    if not 0 <= near < len(sentences):
        return False
    first, second = sorted((place, near))
    return text[sentences[first].end : sentences[second].start].count("\n") < 2


def masked(text: str) -> str:
    """`text` with what speaks to an assistant blanked out."""
    return mask(text, instructions_in(text))


def mask(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` with the spans blanked out, of the same length, so that offsets stay true."""
    pieces: list[str] = []
    end_of_last = 0
    for start, end in spans:
        pieces += [text[end_of_last:start], " " * (end - start)]
        end_of_last = end
    return "".join([*pieces, text[end_of_last:]])
