"""What the front end costs a sentence, after loading: median and 95th percentile, in milliseconds of one core."""

import statistics
import time

from speech_text import KOKORO_SYMBOLS, FrontEnd

ROUNDS = 20
SENTENCES = {
    "en-us": (
        "Hello there.",
        "The meeting is at 6:15pm on 11/29/2026, and it costs $12.50.",
        "**Note:** see [the guide](https://docs.example.org/a) before Dr. Smith of AWS comes by at 5.",
        "When the rain had finally stopped, we walked along the river to the old bridge and looked at the water.",
    ),
    "es": ("Hola, ¿qué tal?", "La reunión es a las 18:15 y cuesta 12,50 €.", "El Sr. Ruiz vive cerca de aquí."),
    "fr": ("Bonjour à tous.", "La réunion est à 8 h 30 et coûte 12,50 €.", "Les amis sont arrivés hier soir."),
    "hi": ("नमस्ते।", "बैठक 18:15 पर है और ₹45 लगते हैं।"),
    "it": ("Buongiorno a tutti.", "La riunione è alle 14:30 e costa 12,50 €."),
    "pt-br": ("Bom dia a todos.", "A reunião é às 14h e custa R$ 12,50."),
}


def measure(front_end: FrontEnd, language: str) -> list[float]:
    """Milliseconds of each call, each sentence `ROUNDS` times."""
    front_end.load(language)
    took_ms = []
    for _ in range(ROUNDS):
        for sentence in SENTENCES[language]:
            start = time.process_time()
            front_end.segments(sentence, language)
            took_ms.append((time.process_time() - start) * 1000)
    return took_ms


def main() -> None:
    front_end = FrontEnd(KOKORO_SYMBOLS)
    print(f"{'language':<10}{'median':>10}{'95 %':>10}   milliseconds a sentence")
    for language in SENTENCES:
        took_ms = sorted(measure(front_end, language))
        print(f"{language:<10}{statistics.median(took_ms):>10.2f}{took_ms[int(len(took_ms) * 0.95)]:>10.2f}")


if __name__ == "__main__":
    main()
