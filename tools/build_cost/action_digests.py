"""Computes a digest of the command line and the inputs of each build action.

Two commits have the same digest for an action if its command line and all of
its inputs are the same. Inputs are identified as follows:

  source file                     by its git blob id
  output of another action        by the digest of that action
  external/..., /usr/include/...  by the path: installed packages count as fixed

A C++ compilation declares all headers of its dependencies. Only those that it
has read count: the compiler lists them in a .d file beside the object file. It
does not list the precompiled header, which therefore is taken from the declared
inputs.

Bazel and this module do not know the files that tests with the tag "external"
read from the checkout at run time.
"""

import collections
import dataclasses
import hashlib
import json
import posixpath

_TEST = 'TestRunner'
_PRECOMPILED_HEADERS = ('.gch', '.pch')

# The digest of the action that writes `output`.
ActionDigest = collections.namedtuple('ActionDigest', 'output mnemonic digest')


def read_dependencies(text):
  """Returns the files in the text of a .d file, without the target."""
  files = text.replace('\\\n', ' ').partition(':')[2].split()
  return [posixpath.normpath(file) for file in files]


def digests(graph, blob_ids, dependencies):
  """Returns {primary output: ActionDigest} of an action graph.

  graph: the object that `bazel aquery --output=jsonproto` prints
  blob_ids: {path: git blob id} of the commit
  dependencies: a function that returns the files in the .d file at a path, or
    None if there is no such file
  """
  return _Digests(_Graph(graph), blob_ids, dependencies).all()


class _Graph:
  """Resolves the ids in the action graph that Bazel prints."""

  def __init__(self, graph):
    self.actions = [action for action in graph['actions']
                    if action['mnemonic'] != 'Fail']  # Bazel never runs these
    self._sets = {s['id']: s for s in graph.get('depSetOfFiles', [])}
    self._paths = _artifact_paths(graph)
    self._makers = {
        self._paths[output]: index
        for index, action in enumerate(self.actions)
        for output in action.get('outputIds', [])}

  def maker(self, path):
    """Returns the index of the action that writes `path`, or None."""
    return self._makers.get(path)

  def outputs(self, action):
    return [self._paths[output] for output in action.get('outputIds', [])]

  def primary_output(self, action):
    return self._paths[action['primaryOutputId']]

  def files(self, set_id):
    return [self._paths[artifact] for artifact
            in self._sets[set_id].get('directArtifactIds', [])]

  def sets(self, set_id):
    return self._sets[set_id].get('transitiveDepSetIds', [])

  def all_files(self, set_ids):
    """Returns the files of the sets, and of the sets inside them."""
    found, pending, seen = set(), list(set_ids), set()
    while pending:
      set_id = pending.pop()
      if set_id not in seen:
        seen.add(set_id)
        found.update(self.files(set_id))
        pending.extend(self.sets(set_id))
    return found


def _artifact_paths(graph):
  """Returns {artifact id: path}; Bazel writes paths as chains of names."""
  names = {part['id']: part for part in graph.get('pathFragments', [])}
  paths = {}
  for artifact in graph.get('artifacts', []):
    parts, at = [], artifact['pathFragmentId']
    while at:
      parts.append(names[at]['label'])
      at = names[at].get('parentId')
    paths[artifact['id']] = '/'.join(reversed(parts))
  return paths


@dataclasses.dataclass(frozen=True)
class _Action:
  index: int


@dataclasses.dataclass(frozen=True)
class _Set:
  """A set of files; Bazel's sets contain other sets."""
  id: int


@dataclasses.dataclass(frozen=True)
class _File:
  """A file that no action writes."""
  path: str


class _Digests:
  """Computes each digest once, without recursion: chains may be long."""

  def __init__(self, graph, blob_ids, dependencies):
    self._graph = graph
    self._blob_ids = blob_ids
    self._dependencies = dependencies
    self._known = {}

  def all(self):
    found = {}
    for index, action in enumerate(self._graph.actions):
      output = self._graph.primary_output(action)
      found[output] = ActionDigest(
          output, action['mnemonic'], self._resolve(_Action(index)))
    return found

  def _resolve(self, root):
    parts, pending = {}, [root]
    while pending:
      node = pending[-1]
      if node not in parts and node not in self._known:
        parts[node] = self._parts(node)
        pending.extend(part for part in parts[node] if part not in self._known)
        continue
      if node not in self._known:
        self._known[node] = self._combine(node, parts[node])
      pending.pop()
    return self._known[root]

  def _parts(self, node):
    """Returns the nodes that the digest of `node` depends on."""
    if isinstance(node, _Action):
      return self._inputs(self._graph.actions[node.index])
    if isinstance(node, _Set):
      return ([_Set(inner) for inner in self._graph.sets(node.id)]
              + self._nodes(self._graph.files(node.id)))
    return []

  def _nodes(self, paths):
    makers = [(path, self._graph.maker(path)) for path in paths]
    return [_File(path) if maker is None else _Action(maker)
            for path, maker in makers]

  def _inputs(self, action):
    set_ids = action.get('inputDepSetIds', [])
    was_read = self._files_read(action)
    if was_read is None:
      return [_Set(set_id) for set_id in set_ids]
    precompiled = [path for path in self._graph.all_files(set_ids)
                   if path.endswith(_PRECOMPILED_HEADERS)]
    return self._nodes(sorted({*was_read, *precompiled}))

  def _files_read(self, action):
    """Returns the files in the action's .d file, or None without one."""
    if action['mnemonic'] != 'CppCompile':
      return None
    listings = [output[:-len('.o')] + '.d'
                for output in self._graph.outputs(action)
                if output.endswith('.o')]
    return self._dependencies(listings[0]) if listings else None

  def _combine(self, node, parts):
    if isinstance(node, _File):
      return self._blob_ids.get(node.path, node.path)
    inputs = sorted(self._known[part] for part in parts)
    if isinstance(node, _Action):
      return _hash([_command(self._graph.actions[node.index]), inputs])
    return _hash(inputs)


def _command(action):
  """Returns the command line of an action, and its environment."""
  # Bazel's key covers actions without a command line: files that it writes.
  # For tests it would cover the folder of --test_env=WEFT_TEST_PYTHON.
  arguments = action.get('arguments') or [action.get('actionKey')]
  environment = [] if action['mnemonic'] == _TEST else sorted(
      (pair['key'], pair.get('value', ''))
      for pair in action.get('environmentVariables', []))
  return [action['mnemonic'], arguments, environment]


def _hash(value):
  text = json.dumps(value, separators=(',', ':'))
  return hashlib.sha256(text.encode()).hexdigest()[:16]
