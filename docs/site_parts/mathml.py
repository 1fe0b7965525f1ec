"""Formulas as MathML, which browsers show without a script or a font from outside."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def inline(self, node):
    """Write a formula in a line."""
    self.body.append(tex2mathml(node.astext()))
    raise SkipNode


def block(self, node):
    """Write a formula that stands alone; it can be scrolled where it is too wide."""
    formula = tex2mathml(node.astext(), as_block=True)
    self.body.append(f'<div class="formula" role="group" aria-label="formula">{formula}</div>\n')
    raise SkipNode
