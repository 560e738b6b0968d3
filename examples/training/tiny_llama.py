"""A language model of some thousand weights, with a tokenizer, made on the spot: nothing is downloaded."""

import numpy as np
import torch
from lotteries import LETTERS, PROMPTS, WORDS
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TOKENS = ["<pad>", "<end>", *PROMPTS, *LETTERS]


def tiny() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """A model and a tokenizer with a token for every prompt and letter."""
    plain = Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}, unk_token="<pad>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<end>")
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=16,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        initializer_range=0.3,  # so that a fresh model tells prompts apart
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(0.05)  # and has no favourites yet
    return model, tokenizer


@torch.no_grad()
def policy(model: LlamaForCausalLM) -> np.ndarray:
    """The probability of every word at every prompt [prompts, words]; what is left is for answers that are no word."""
    tokens = torch.tensor([[TOKENS.index(x) for x in (prompt, *word)] for prompt in PROMPTS for word in WORDS])
    found = model(tokens).logits.log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None])
    return found.sum((1, 2)).exp().view(len(PROMPTS), -1).double().numpy()
