"""Checks that pages and sources use the terms of docs/glossary.md.

docs/style.md lists the old words and the terms that replace them.
"""

import collections
import re

from tools.source_tree import Violation

# `literals`: lower-case texts; each match of `pattern` contains one of them.
# `allowed`: matches lines on which the word has its usual meaning, or None.
_Term = collections.namedtuple('_Term', 'pattern literals instead allowed')


def _term(pattern, *literals, instead, allowed=None):
  return _Term(re.compile(pattern, re.IGNORECASE), literals, instead,
               re.compile(allowed, re.IGNORECASE) if allowed else None)


_TERMS = (
    _term(r'\bsigns? of life\b', 'of life', instead='heartbeat'),
    _term(r'\blanding memory\b', 'landing memory', instead='receive buffer'),
    # ZMTP, the protocol of ZeroMQ, starts with a message of this name.
    _term(r'\bgreetings?\b', 'greeting', instead='handshake',
          allowed=r'ZMTP|ZeroMQ'),
    _term(r'\bdoubt(?:s|ed)?\b', 'doubt', instead='unconfirmed or stale'),
    _term(r'\bpatience\b', 'patience', instead='timeout'),
    _term(r'letgo', 'letgo', instead='Release'),
    _term(r'goonwith', 'goonwith', instead='Continue'),
    _term(r'\bheed', 'heed', instead='WatchCancellation'),
    _term(r'declarer', 'declarer', instead='owner'),
    _term(r'declarant', 'declarant', instead='declaring session'),
    _term(r'namesake', 'namesake', instead='conflicting resource'),
    _term(r'\bwhoever\b', 'whoever', instead='the caller'),
    _term(r'\bby turns\b', 'by turns', instead='round robin or FIFO order'),
    _term(r'planted.bug', 'planted', instead='mutant'),
    _term(r'made[-_ ]up\b', 'made', instead='random or generated'),
    _term(r'\bfresh reader|\bread once more\b', 'fresh reader', 'once more',
          instead='nothing: do not describe the process'),
    _term(r'\b(?-i:[Kk]in)\b', 'kin', instead='related type'),
    # Statistics has moments.
    _term(r'\bmoment\b', 'moment', instead='logical timestamp or epoch',
          allowed=r'(?:first|second|raw|uncentered|central) moment'
                  r'|moment estimate'),
    _term(r'over_below', 'over_below',
          instead='low-water mark of finished steps'),
    _term(r'kownthread', 'kownthread', instead='unbounded pool'),
    _term(r'(?<![a-z])rooms\b|(?<![a-z])room_|_room(?![a-z])', 'room',
          instead='module, or space'),
    _term(r'\btrial gpus?\b', 'trial gpu', instead='emulated GPU'),
    _term(r'\bfloors\b', 'floors', instead='layers'),
    _term(r'\bhouse\b', 'house', instead='module', allowed=r'house price'),
    _term(r'\bwings?\b', 'wing', instead='module'),
)


def check(path, text):
  """Yields the violations of one file."""
  lower = text.lower()
  for term in _TERMS:
    if not any(literal in lower for literal in term.literals):
      continue
    for number, line in enumerate(text.split('\n'), 1):
      match = term.pattern.search(line)
      if match and not (term.allowed and term.allowed.search(line)):
        yield Violation(path, number, f'"{match.group()}" is an old term',
                        f'write {term.instead}')
