"""Every byte that a hostile call makes the console write to its terminal."""

from tests.e2e.conftest import House
from tests.e2e.person import read
from tests.e2e.written import CORPUS, LINE, disguised, foreign, written


def test_a_hostile_call_adds_no_byte_but_those_of_the_console(house: House) -> None:
    house.make_key()
    house.start_gate()
    with house.console(size=(100, 50)) as terminal:
        terminal.until("nothing waiting")
        terminal.still(0.3)
        opened = len(terminal.raw)
        house.call("send-mail", to=LINE[:400], subject=LINE[-400:], body="\n".join(CORPUS))
        terminal.until("Approve send-mail?")
        read(terminal)
        data = written(terminal, opened)
        assert "⟨ESC⟩".encode() in data
        assert disguised()
        assert foreign(data) == {}
