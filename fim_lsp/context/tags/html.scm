(attribute (attribute_name) @key (quoted_attribute_value (attribute_value) @name)) @field
