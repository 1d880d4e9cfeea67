"""The texts of skills, each stored once under its hash: sessions refer to the hash, and so read the same text until they end."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.retry import retried
from tarsy.db.tables import skill_texts
from tarsy.domain.skill import text_hash


class SkillTextRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @retried()
    async def store(self, texts: Collection[str]) -> None:
        """Store the texts that are not stored yet. None is ever deleted: they are small, and the next session may need them again."""
        # In the same order in all replicas that start together, so that there is no deadlock.
        rows = [{"hash": hashed, "content": text} for hashed, text in sorted((text_hash(text), text) for text in set(texts))]
        if not rows:
            return
        async with self._engine.begin() as connection:
            await connection.execute(insert(skill_texts).values(rows).on_conflict_do_nothing())

    @retried()
    async def read(self, hashes: Collection[str]) -> Mapping[str, str]:
        if not hashes:
            return {}
        query = sa.select(skill_texts.c.hash, skill_texts.c.content).where(skill_texts.c.hash.in_(hashes))
        async with autocommit(self._engine).connect() as connection:
            return {row.hash: row.content for row in await connection.execute(query)}
