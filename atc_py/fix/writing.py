"""What a page of rules is written with: cases, requirements, and the site on which a form is written."""

from atc_py.fix.rule import Exactness

EQUAL, REORDERED, BOUNDED, APPROXIMATE = Exactness
