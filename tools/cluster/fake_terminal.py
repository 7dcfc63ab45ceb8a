"""A fake output stream of the launcher, and the screen of a terminal."""


class FakeSink:
  """Collects the written text."""

  def __init__(self, is_terminal):
    self.is_terminal = self.is_coloured = is_terminal
    self.is_broken = False
    self.text = ''

  def width(self):
    return 40

  def write(self, text):
    self.text += text

  def take(self):
    text, self.text = self.text, ''
    return text


def screen(text):
  """Returns the lines that a terminal shows after `text`."""
  lines, row = [''], 0
  while text:
    if text.startswith('\x1b[A'):
      row, text = row - 1, text[3:]
    elif text.startswith('\x1b[J'):
      del lines[row + 1:]
      lines[row], text = '', text[3:]
    elif text.startswith('\x1b['):
      text = text[text.index('m') + 1:]
    elif text[0] == '\n':
      row, text = row + 1, text[1:]
      lines += [''] * (row + 1 - len(lines))
    elif text[0] == '\r':  # always followed by an erasure
      text = text[1:]
    else:
      lines[row] += text[0]
      text = text[1:]
  return lines
