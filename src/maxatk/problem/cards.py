"""Cards of blackjack from an endless deck, and the dealer's total: shared by both games of blackjack."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

CARDS: Mapping[int, Fraction] = {card: Fraction(4 if card == 10 else 1, 13) for card in range(1, 11)}  # an ace is 1


def add_card(total: int, soft: bool, card: int) -> tuple[int, bool] | None:
    """A hand's total after one more card, and whether an ace in it counts 11; None if the total exceeds 21."""
    hard = total - 10 * soft + card
    if (soft or card == 1) and hard <= 11:
        return hard + 10, True
    return (hard, False) if hard <= 21 else None


def two_cards(one: int, two: int) -> tuple[int, bool]:
    """The total of two cards, and whether an ace in it counts 11."""
    return (one + two + 10, True) if 1 in (one, two) else (one + two, False)


@cache
def dealer(total: int, soft: bool = False, cards: int = 0) -> Mapping[tuple[int, bool], Fraction]:
    """The law of the dealer's final total (0 if it exceeds 21) and of whether it is a natural.

    The dealer holds ``cards`` cards of this total, stands on 17 and draws below it.
    """
    if total >= 17:
        return {(total, cards == 2 and total == 21): Fraction(1)}
    law: dict[tuple[int, bool], Fraction] = {}
    for card, p in CARDS.items():
        after = add_card(total, soft, card)
        for end, q in ({(0, False): Fraction(1)} if after is None else dealer(*after, cards + 1)).items():
            law[end] = law.get(end, Fraction(0)) + p * q
    return law


def dealer_showing(card: int) -> Mapping[tuple[int, bool], Fraction]:
    """The law of :func:`dealer`, given the card that the dealer shows."""
    return dealer(11, True, 1) if card == 1 else dealer(card, False, 1)
