"""Mutated files through every door by which bytes come in: only errors that a user can mend.

    python -m validation.fuzz                    # 10,000 mutants, over all doors
    python -m validation.fuzz --tenth [SEED]     # 1,000 of another seed, which is printed
    python -m validation.fuzz --replay study:17 --seed 4711    # one again: its file and what came

A mutant is a sound file in which a few things were changed: keys, types, units, numbers out of all
proportion, characters that terminals obey, cells, quotes, bytes, encodings, packing; or something
that is no file. It goes through the reader and on through the verb, the report and the document
that a command would make of it. What comes out must be an answer or a `ForetrainError` of at most
a few screens, within 20 s of CPU and 2 GiB. `doors` lists the doors; a test finds every function
that reads a file, and fails if it stands behind none of them.
"""
