"""The contracts: environments, typed actions, ids, the registry, seeding."""
