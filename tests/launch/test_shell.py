"""What launch scripts of shells say, without running them."""

import pytest

from foretrain.errors import InputError
from foretrain.launch.shell import commands


def words(text, **values):
    return [[word.text for word in each.words] for each in commands(text, values)]


def test_a_continued_line_is_one_command():
    assert words("torchrun a.py \\\n  --x 1 \\\n  --y 2\n") == [
        ["torchrun", "a.py", "--x", "1", "--y", "2"]
    ]


def test_comments_end_a_line_and_leave_a_word_alone():
    assert words("run a#b # and more\n# nothing\n") == [["run", "a#b"]]


def test_variables_are_filled_in_and_split_unless_quoted():
    assert words('A="x y"\nrun $A "$A" ${A}z\n') == [["run", "x", "y", "x y", "x", "yz"]]


def test_later_assignments_count():
    assert words("A=1\nA=2\nrun $A\n") == [["run", "2"]]


def test_a_default_stands_for_a_variable_that_nobody_sets():
    assert words("run ${A:-4} ${A-5} ${B:=6}\n") == [["run", "4", "5", "6"]]
    assert words("run ${A:-4}\n", A="8") == [["run", "8"]]


def test_arrays_are_as_many_words_as_they_have_items():
    text = 'ARGS=(\n  --a 1 # one\n  --b "2 3"\n)\nARGS+=(--c)\nrun "${ARGS[@]}"\n'
    assert words(text) == [["run", "--a", "1", "--b", "2 3", "--c"]]


def test_an_array_without_quotes_is_split_again():
    assert words('ARGS=("--a 1")\nrun ${ARGS[@]}\n') == [["run", "--a", "1"]]


def test_numbers_are_computed():
    assert words("N=4\nrun $(($N*8)) $((N + 1))\n") == [["run", "32", "5"]]


def test_what_only_a_running_shell_knows_keeps_its_name():
    [command] = commands("run $A $(hostname) `pwd` $1\n")
    assert [word.unset for word in command.words[1:]] == [
        ("A",),
        ("$(hostname)",),
        ("`pwd`",),
        ("$1",),
    ]


def test_words_keep_the_line_where_they_are_written():
    [command] = commands('ARGS="\n --a 1\n --b 2"\nrun $ARGS\n')
    assert [(word.text, word.line) for word in command.words] == [
        ("run", 4),
        ("--a", 2),
        ("1", 2),
        ("--b", 3),
        ("2", 3),
    ]


def test_a_document_within_a_script_is_kept_with_its_file():
    [command] = commands('S=2\ncat <<EOT > ds.json\n{"stage": $S}\nEOT\n')
    assert command.written == {"ds.json": '{"stage": 2}'}


def test_a_document_in_quotes_stays_as_it_is():
    [command] = commands("cat > ds.json <<'EOT'\n{$S}\nEOT\n")
    assert command.written == {"ds.json": "{$S}"}


@pytest.mark.parametrize("text", ["run 'a", 'run "a', "A=(1 2", "run ${A"])
def test_what_is_not_closed_is_refused_with_its_line(text):
    with pytest.raises(InputError, match=r"line 2: .* not closed"):
        commands(f"\n{text}")


def test_a_variable_that_names_itself_is_what_it_was_before():
    assert words('A=a\nA="$A b"\nA="$A c"\nrun $A\n') == [["run", "a", "b", "c"]]


def test_a_script_that_doubles_itself_is_refused():
    lines = ["A=xxxxxxxxxxxxxxxx", *['A="$A$A"'] * 40, "run $A"]
    with pytest.raises(InputError, match="proportion"):
        commands("\n".join(lines))


def test_signs_that_no_list_has_do_not_hold_a_reader():
    assert words('A=(1 ; 2 <x> (3)\nrun "${A[@]}"\n') == [["run", "1", "2", "x", "3"]]
