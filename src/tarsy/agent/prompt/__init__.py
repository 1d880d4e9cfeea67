"""Everything a model is told, written here and nowhere else."""
