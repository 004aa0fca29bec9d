"""GraphRAG: what stands in the passages as entities and relations, and ways to retrieve along them.

extraction    entities, mentions and relations of a chunk: by a model, or by how names are written
lexicon       which entities a question speaks of
spread        personalised PageRank from the question's entities and first hits to the passages
local         what stands around the question's entities
communities   entities that belong together (Leiden), a report each
overview      map-reduce over the reports, for questions about the whole
cypher        a read-only query, written by a model or filled into a template
technique     settings, the class with its verb, its line in the table
"""
