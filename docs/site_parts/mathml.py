"""Write formulas as MathML, which browsers display without scripts or external fonts."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(self, node):
    """Write an inline formula."""
    self.body.append(tex2mathml(node.astext()))
    raise SkipNode


def visit_block(self, node):
    """Write a displayed formula, which can be scrolled if it is too wide."""
    formula = tex2mathml(node.astext(), as_block=True)
    self.body.append(f'<div class="formula" role="group" aria-label="formula">{formula}</div>\n')
    raise SkipNode
