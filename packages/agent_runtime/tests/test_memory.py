from agent_runtime.memory import Memory, Remark
from hypothesis import given
from hypothesis import strategies as st


def spoken(memory: Memory, prompt: str = "And now?") -> list[tuple[str, str]]:
    return [("user" if remark.is_users else "agent", remark.text) for remark in memory.remarks(prompt)]


def test_a_first_question_stands_alone() -> None:
    assert Memory().remarks("Hello?") == [Remark(True, "Hello?")]


def test_users_and_agent_take_turns() -> None:
    memory = Memory()
    memory.remember("Who are you?", "A voice.")
    memory.remember("Whose?", "Nobody's.")
    assert spoken(memory) == [
        ("user", "Who are you?"),
        ("agent", "A voice."),
        ("user", "Whose?"),
        ("agent", "Nobody's."),
        ("user", "And now?"),
    ]


def test_a_question_that_was_not_answered_is_asked_with_the_next() -> None:
    memory = Memory()
    memory.remember("Tell me about", "")
    memory.remember("the weather", " ")
    assert spoken(memory, "in Paris.") == [("user", "Tell me about\n\nthe weather\n\nin Paris.")]


def test_what_was_heard_can_be_amended() -> None:
    memory = Memory()
    exchange = memory.remember("Why?", "Because the sky is blue.")
    exchange.answer = "Because"
    assert spoken(memory)[1] == ("agent", "Because")


def test_the_oldest_exchanges_are_forgotten_first() -> None:
    memory = Memory(max_exchanges=2)
    for number in range(4):
        memory.remember(f"q{number}", f"a{number}")
    assert [text for _, text in spoken(memory)] == ["q2", "a2", "q3", "a3", "And now?"]


def test_what_is_too_long_is_forgotten() -> None:
    memory = Memory(max_chars=10)
    memory.remember("12345", "123")
    memory.remember("1234", "12345")
    assert [text for _, text in spoken(memory)] == ["1234", "12345", "And now?"]
    memory.remember("x" * 11, "")
    assert [text for _, text in spoken(memory)] == ["And now?"]


def test_a_memory_of_nothing_remembers_nothing() -> None:
    memory = Memory(max_exchanges=0)
    memory.remember("Why?", "Because.").answer = "Be"
    assert memory.remarks("And now?") == [Remark(True, "And now?")]


@given(st.lists(st.tuples(st.text(min_size=1), st.text())), st.integers(0, 5), st.integers(0, 100))
def test_any_memory_is_a_conversation_that_a_model_takes(
    exchanges: list[tuple[str, str]], max_exchanges: int, max_chars: int
) -> None:
    memory = Memory(max_exchanges, max_chars)
    for prompt, answer in exchanges:
        memory.remember(prompt, answer)
    remarks = memory.remarks("And now?")
    assert [remark.is_users for remark in remarks] == [number % 2 == 0 for number in range(len(remarks))]
    assert remarks[-1].text.endswith("And now?")
    assert all(remark.text.strip() for remark in remarks if not remark.is_users)
    assert sum(len(remark.text) for remark in remarks) <= max_chars + len("And now?") + 2 * max_exchanges
