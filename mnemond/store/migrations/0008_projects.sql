-- The project of a memory is no tag any more (docs/decisions/0034). What the hooks of agents kept had the name of its
-- project as its first tag; of what came over MCP a tag is a project if it is the tag of one there.
ALTER TABLE insights ADD COLUMN project TEXT;
CREATE TABLE tags_of_projects(
  tag TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO tags_of_projects(tag)
SELECT t.value FROM insights AS i, json_each(CASE WHEN json_valid(i.tags) THEN i.tags ELSE '[]' END) AS t
WHERE i.channel = 'extract' AND t.key = 0 AND t.type = 'text' AND t.value <> ''
  AND CASE WHEN json_valid(i.metadata) THEN json_extract(i.metadata, '$.host') END IS NOT NULL;
UPDATE insights SET project = (
  SELECT t.value FROM json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) AS t
  WHERE t.type = 'text' AND t.value IN (SELECT tag FROM tags_of_projects) ORDER BY t.key LIMIT 1
) WHERE channel IN ('extract', 'mcp') AND tags <> '[]';
UPDATE insights SET tags = (
  SELECT json_group_array(t.value) FROM (
    SELECT value FROM json_each(insights.tags) WHERE value <> insights.project ORDER BY key
  ) AS t
) WHERE project IS NOT NULL;
DROP TABLE tags_of_projects;
