"""The nesting depth of a page's elements.

Tags beyond that depth begin nothing. What is shown of a page is up to ``html_text``.

For many tags a parser asks all elements that are open: of 16,000 `<div>` that takes half a second, of 200,000 a minute and more.
Browsers have such a limit too. The rules are those of the HTML standard, 13.2.6.4.7 ("in body"), as far as they open and close;
in doubt an element counts as open.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy

_DEEPEST: Final = 256
_DEEPEST_STYLED: Final = 64  # for elements that style text, since each paragraph reopens those still open
_LONGEST_TAG: Final = 20_000  # characters: a parser compares each attribute of a tag with all others


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_STYLES: Final = _names("a b big code em font i nobr s small strike strong tt u")
_IN_LINE: Final = _STYLES | _names("abbr bdi bdo cite del ins kbd mark q samp span sub sup var")
#: Elements that can't be nested in themselves: those without an end, and those ended by the next one of their kind.
_FLAT: Final = _names(
    "area base br col embed hr img input link meta param source track wbr html head body "
    "h1 h2 h3 h4 h5 h6 p li dt dd tr td th thead tbody tfoot caption colgroup option optgroup"
)
_TEXTS: Final = _names("script style textarea title")  # a tag in them is text
_FOREIGN: Final = _names("svg math")
_PAGES_IN_FOREIGN: Final = _names("foreignobject desc title mi mo mn ms mtext annotation-xml")
_SCOPES: Final = _FOREIGN | _names("table template object marquee applet")  # an end tag has no effect beyond these
#: Elements that only their own end tag, or that of one of these, ends.
_SPECIAL: Final = _SCOPES | _names(
    "address article aside blockquote button center details dir div dl fieldset figcaption figure footer form header hgroup "
    "iframe listing main menu nav noscript ol pre search section select summary ul xmp"
)
_WHOLE_TAG: Final = lazy.pattern(r"""(<[a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*'|["'])*+)""")
_TAG: Final = lazy.pattern(r"<(/?)([a-zA-Z][^\s/<>]*)")


def with_few_open(page: str) -> str:
    """The page without tags that would be nested hundreds of levels deep; their contents move up.

    A tag with very many attributes loses them.
    """
    if len(page) > _LONGEST_TAG:
        page = _WHOLE_TAG.sub(lambda tag: tag[0] if len(tag[0]) <= _LONGEST_TAG else tag[1], page)
    if page.count("<") - page.count("</") <= _DEEPEST_STYLED:
        return page
    out: list[str] = []
    stack: list[str] = []
    at = 0
    text = foreign = ""  # the open text element, and the open drawing or formula
    for m in _TAG.finditer(page):
        name = m[2].lower()
        if text or (name in _FLAT and not foreign):
            text = "" if m[1] and name == text else text
        elif m[1]:
            _close(stack, name)
            foreign = foreign if foreign in stack else ""
        elif name in _TEXTS and not foreign:
            text = name
        elif len(stack) < (_DEEPEST_STYLED if name in _STYLES else _DEEPEST):
            stack.append(name)
            foreign = name if name in _FOREIGN and not foreign else foreign
        else:  # in a drawing, which is not shown, it is text
            out += [page[at : m.start()], "&lt;" if foreign == "svg" else "<wbr" if name in _IN_LINE else "<br"]
            at = m.start() + 1 if foreign == "svg" else m.end()
    return "".join([*out, page[at:]])


def _close(stack: list[str], name: str) -> None:
    """Remove the elements that an end tag ends from a stack."""
    for k in range(len(stack) - 1, -1, -1):
        if stack[k] == name:
            del stack[k : k + 1 if name in _STYLES else None]
            return
        if stack[k] in _SCOPES or (stack[k] in _SPECIAL and name not in _SPECIAL and name not in _STYLES):
            return
        if name in _FOREIGN and stack[k] in _PAGES_IN_FOREIGN:
            return
