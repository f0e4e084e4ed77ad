"""Statistics of sequences of words, which are numbers."""

from atc_py.target.row import Attribute
from atc_py.target.rows.parts import operator

ROWS = (
    # CANN's operator takes strings as well, and pool_strings for them.
    operator(
        "TfIdfVectorizer",
        "Counts or weights of the n-grams of a pool in sequences of numbers; words of an n-gram are "
        "neighbors, or have 1 to max_skip_count others between any two.",
        "input > output",
        form="T > f32",
        attributes=(
            Attribute("max_gram_length", "int"),
            Attribute("max_skip_count", "int"),
            Attribute("min_gram_length", "int"),
            Attribute("mode", "string"),
            Attribute("ngram_counts", "ints"),
            Attribute("ngram_indexes", "ints"),
            Attribute("pool_int64s", "ints", ()),
            Attribute("weights", "floats", ()),
        ),
        aicpu="i32 i64",
        family="rows",
        formula=(
            "count[r, i] = occurrences in sequence r of the n-grams g with ngram_indexes[g] = i\n"
            "output = count (TF), weight where count > 0 (IDF), or weight * count (TFIDF), the weight "
            "of place i being weights[g]"
        ),
    ),
)
