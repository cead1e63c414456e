r"""Events in a file, one JSON object a line, so that a run can be looked at again elsewhere and later.

The first line is a header, each further line an event, in the order in which they happened, or what events hold::

    {"type":"koogbook.trace","version":2,"runs":["9f0c"]}
    {"type":"koogbook.message","id":"0b5f...","message":{"role":"user","parts":[{"type":"text","text":"Rome"}],...}}
    {"type":"NodeStarting","time":1767258000.5,"at":0.5,"run_id":"9f0c",...,"input":{"$":"message","of":"0b5f..."}}
    {"type":"NodeCompleted",...,"visit":1,"seconds":0.01,"output":{"$":"shown","of":"<plan of 3 stops>"}}

``runs`` are the run ids that were known when the header was written. A header may stand again further down, where
something was added to the file; a line before it may have been broken off, as the last line may be. ``type`` is the
name of the event's class, and the other keys are its fields: one that is missing has its default, one that the class
does not know is refused. Times are ISO 8601, bytes are base64.

**What stands once.** A message is written once, before the first event that needs it, and referred to from then on, and
so are histories (several messages in a row) and what many requests have in common::

    {"type":"koogbook.message","id":"<digest>","message":{...}}
    {"type":"koogbook.messages","id":"<digest>","of":[["<id of a history>",0,12],"<id of a message>",...]}
    {"type":"koogbook.value","id":"<digest>","value":...}

A history is put together from pieces: a part of an earlier history, from its first place to before its end, counted
from 0, or one message. A request that says two messages more than the one before it has three pieces. A history has at
most 1,000 messages more than stand in the lines before it; one that repeats itself more often is a list of messages. A
value is in the form below; it refers to nothing, and holds the tools of a request, the marks of messages, or the shape
of a graph.

An id is the hexadecimal BLAKE2b digest, 16 bytes, of the content: of a message, over its JSON with sorted keys and
nothing between them; of a history, over the digests of its messages, one behind the other; of a value, over its JSON
with sorted keys. Each line refers only to lines before it, so that nothing can refer to itself. An id stands for the
same content in the whole file: a line may stand again, and two that write to one file may do so by turns.

**Values of any type** (inputs and outputs of nodes, requests) are kept where they are plain JSON, or koogbook's own.
What JSON has not is an object with the key ``$``::

    {"$":"message","of":"<id>"}      a message, which stands in a line of its own
    {"$":"messages","of":"<id>"}     a tuple of messages, the same
    {"$":"list","of":{...}}          a list of messages; in it is the tuple
    {"$":"value","of":"<id>"}        a value that stands in a line of its own
    {"$":"Request","of":{...}}       a request; also RequestChange, Mark, LLModel, LLMParams, ToolChoice, ToolSpec,
                                     Ledger, Usage, CodeExcerpt, Message and its parts, GraphShape and its nodes,
                                     edges and findings: the fields, those left out that have their default
    {"$":"tuple","of":[...]}         a tuple
    {"$":"dict","of":{...}}          an object that has a key $ itself
    {"$":"shown","of":"<plan ...>"}  what was not kept: how it showed itself, see Shown

The fields of requests and ledgers that hold messages are in this form, too; so are fields of events that do. A mapping
that cannot be changed comes back as one that can.

A lone surrogate is its escape (``\ud83d``), or three bytes where two of them would be read as one character. Times and
durations are seconds, numbers of at most 60,000,000,000 (1,900 years) before and after 0; others are neither written
nor read. Any other float may be ``NaN``, ``Infinity`` or ``-Infinity``, as Python's ``json`` writes it.

The file is UTF-8; a mark at its beginning that says so (a BOM) is read over. Version 1 had no lines but events, in
which messages stood in full (``{"$":"Message","of":{...}}``), as in a line that :func:`encode_event` writes to stand
alone. It is read as version 2 is.

Reading tells what is missing: where what begins and what ends in a run that is over do not pair, numbers of requests,
tools or frames are left out, a line is torn, or a run stands in the file again, there is a ``Notice`` for it.

Nothing in a file is run or imported, and no name in it becomes a path.
"""

from koogbook.trace.appending import TraceFile as TraceFile
from koogbook.trace.codec import TraceDecoder as TraceDecoder
from koogbook.trace.codec import TraceEncoder as TraceEncoder
from koogbook.trace.codec import decode_event as decode_event
from koogbook.trace.codec import encode_event as encode_event
from koogbook.trace.fields import LONGEST_TIME as LONGEST_TIME
from koogbook.trace.files import HasEvents as HasEvents
from koogbook.trace.files import Trace as Trace
from koogbook.trace.files import load_trace as load_trace
from koogbook.trace.files import save_trace as save_trace
from koogbook.trace.lines import FORMAT as FORMAT
from koogbook.trace.lines import VERSION as VERSION
from koogbook.trace.lines import encode_header as encode_header
from koogbook.trace.values import Shown as Shown
