"""A small decoder-only transformer over bytes."""

import math

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 256


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        split = self.inputs(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        future = torch.full((length, length), -math.inf).triu(1)
        mixed = (scores + future).softmax(-1) @ value
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a two-layer network, each with a norm before and a way around."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.network_norm = nn.LayerNorm(width)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        return x + self.dropout(self.network(self.network_norm(x)))


class Transformer(nn.Module):
    """Bytes in, the loss of predicting each next byte out."""

    def __init__(self, layers, width, heads, sequence, dropout):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(sequence, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY)
        for table in (self.tokens, self.places, self.head):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.places(torch.arange(inputs.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
